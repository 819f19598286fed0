// Reads modules of the portal, so that tests don't repeat values that pages define.
import { buildSync } from "esbuild";
import { fileURLToPath } from "node:url";

const SOURCES = fileURLToPath(new URL("../../../edge/portal/src", import.meta.url));

/** Imports a module that draws nothing, by its path in `edge/portal/src`. */
export function sourceOf(file) {
  const { outputFiles } = buildSync({
    absWorkingDir: SOURCES,
    entryPoints: [file],
    bundle: true,
    write: false,
    format: "esm",
  });
  return import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);
}
