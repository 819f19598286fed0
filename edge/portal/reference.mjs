// The API reference as plain HTML, generated from the API description.

const METHODS = ["get", "post", "put", "delete"];

/**
 * Returns the body of a page: headings, tables and examples, without style or script. `typeName` names a type for
 * readers; `tables` has the statuses, reasons, conventions and error codes.
 */
export function referenceHtml(description, typeName, tables) {
  const typeOf = (schema) => escaped(typeName(description, schema ?? {}), false);
  const resolve = (thing) =>
    thing?.$ref ? description.components[thing.$ref.split("/")[2]][thing.$ref.split("/")[3]] : thing;
  const operations = Object.entries(description.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({ path, method, ...item[method] })),
  );
  const sections = (description.tags ?? []).map(({ name, description: text }) => {
    const own = operations.filter(({ tags }) => tags?.includes(name));
    return own.length === 0 ? "" : `<h2>${escaped(name)}</h2>${prose(text)}${own.map(operation).join("")}`;
  });
  const [first, ...others] = sections;
  return `<h1>API reference</h1>${prose(description.info.description)}${first}${tables}${others.join("")}`;

  function operation({
    path,
    method,
    summary,
    description: text,
    security,
    parameters,
    requestBody,
    responses,
  }) {
    const line = `${method.toUpperCase()} ${path}`;
    return `<h3>${escaped(line)}: ${escaped(summary)}</h3>${prose(text)}${prose(credentials(security))}${parametersTable(
      parameters,
    )}${body("Body", requestBody)}${responsesList(responses)}`;
  }

  function parametersTable(parameters = []) {
    const rows = parameters
      .map(resolve)
      .map((parameter) => [
        code(parameter.name),
        `${escaped(parameter.in)}, ${typeOf(parameter.schema)}${parameter.required ? ", required" : ""}`,
        escaped(parameter.description ?? ""),
      ]);
    return table(["parameter", "type", ""], rows);
  }

  function body(title, holder) {
    const content = resolve(holder)?.content?.["application/json"];
    if (!content) return "";
    return `<h4>${title}</h4>${members(content.schema)}${examples(content)}`;
  }

  function responsesList(responses) {
    return Object.entries(responses)
      .map(([status, reference]) => {
        const response = resolve(reference);
        const headers = Object.keys(response.headers ?? {});
        const carried = headers.length > 0 ? ` Headers: ${headers.map(code).join(", ")}.` : "";
        const content = response.content?.["application/json"];
        const shown =
          content && /^2/.test(status) ? members(content.schema) + examples(content) : examples(content);
        return `<h4>${status}</h4><p>${escaped(response.description)}.${carried}</p>${shown}`;
      })
      .join("");
  }

  function members(reference, prefix = "", seen = []) {
    const rows = memberRows(resolve(reference), prefix, seen);
    return table(["member", "type", ""], rows);
  }

  function memberRows(schema, prefix, seen) {
    const shapes = [schema, ...(schema?.allOf ?? []), ...(schema?.oneOf ?? []), ...(schema?.anyOf ?? [])].map(
      resolve,
    );
    return shapes.flatMap((shape) =>
      Object.entries(shape?.properties ?? {}).flatMap(([name, property]) => {
        const inner = resolve(property.items ?? property.oneOf?.find(({ $ref }) => $ref) ?? property);
        const required = shape.required?.includes(name) ? "" : ", optional";
        const text = property.description ?? resolve(property).description ?? "";
        const row = [code(prefix + name), typeOf(property) + required, escaped(text)];
        if (!inner?.properties || seen.includes(inner)) return [row];
        return [row, ...memberRows(inner, `${prefix}${name}.`, [...seen, inner])];
      }),
    );
  }
}

/** Converts text with backticks for code and blank lines between paragraphs. */
function prose(text = "") {
  const paragraphs = text.split("\n\n").filter((paragraph) => paragraph.trim() !== "");
  return paragraphs.map((paragraph) => `<p>${escaped(paragraph)}</p>`).join("");
}

function credentials(security = []) {
  const names = security.flatMap((scheme) => Object.keys(scheme));
  const words = {
    ApiKey: "an API key in `X-API-Key`",
    Session: "a session token as `Authorization: Bearer`",
  };
  const known = names.map((name) => words[name] ?? name);
  return known.length === 0 ? "Credentials: none." : `Credentials: ${known.join(", or ")}.`;
}

function examples(content) {
  const all = content?.examples
    ? Object.entries(content.examples).map(([name, { summary, value }]) => [summary ?? name, value])
    : content?.example !== undefined
      ? [["", content.example]]
      : [];
  return all
    .map(([title, value]) => {
      const caption = title === "" ? "" : `<p>${escaped(title)}:</p>`;
      return `${caption}<pre><code class="language-json">${escaped(JSON.stringify(value, null, 2), false)}</code></pre>`;
    })
    .join("");
}

function table(names, rows) {
  if (rows.length === 0) return "";
  const line = (tag, cells) => `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join("")}</tr>`;
  return `<table><thead>${line("th", names)}</thead><tbody>${rows.map((row) => line("td", row)).join("")}</tbody></table>`;
}

const code = (text) => `<code>${escaped(String(text), false)}</code>`;

function escaped(text, withCode = true) {
  const plain = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return withCode ? plain.replace(/`([^`]+)`/g, "<code>$1</code>") : plain;
}
