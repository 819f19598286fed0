// Asserts that the portal's sentences are short, in the words of docs/words.md. The sentences come from the portal's
// sources, so that no state of a page is missed.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import path from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { sourceOf } from "./source.mjs";

const SOURCES = fileURLToPath(new URL("../../../edge/portal/src", import.meta.url));
const WORDS = readFileSync(new URL("../../../docs/words.md", import.meta.url), "utf8");

const LONGEST = 25;
/** Elements within a sentence; all other elements end it. */
const INLINE = ["a", "b", "code", "em", "span", "strong", "time", "Button"];
/** Minimum number of words of a sentence: shorter strings are names and codes. */
const FEWEST = 3;

/** Minimum number of lines of a program. */
const PROGRAM = 8;

const AVOIDED = [...WORDS.split("## Instead of")[1].matchAll(/^\| `([^`]+)` \|/gm)].map(([, word]) => word);

export function suite() {
  test("no sentence of the portal is longer than 25 words", () => {
    const sentences = allSentences();
    assert.ok(sentences.length > 200, `${sentences.length} sentences`);
    assert.deepEqual(overlong(sentences.map(({ text }) => text)), []);
  });

  test("the portal uses the words of docs/words.md", () => {
    assert.ok(AVOIDED.length > 10, `${AVOIDED.length} words`);
    const found = allSentences().filter(({ text }) => avoidedIn(text).length > 0);
    assert.deepEqual(found, []);
  });

  test("a refusal of the service keeps its words, with its names and apostrophes in our quotes", async () => {
    const { tell } = await sourceOf("words/problems.ts");
    const told = (code, detail) => tell({ cause: { kind: "refused", status: 409, code, detail } });
    for (const [code, detail, words] of [
      ["invalid_body", "The 'emails[3]' field isn't a string.", "The “emails[3]” field isn’t a string."],
      ["invalid_email", "This isn't an email address. It's 'x'.", "This isn’t an email address. It’s “x”."],
      ["too_many_scans", "This account has 1000 scans. Delete old ones.", undefined],
      ["part_conflict", "You can't, and they didn't.", "You can’t, and they didn’t."],
    ])
      assert.equal(told(code, detail), words ?? detail);
  });

  test("these tests see a long sentence and a word to avoid", () => {
    const long = Array.from({ length: 26 }, () => "word").join(" ");
    const source = `export const A = () => <p>We <strong>cannot</strong> {x}. Word ${long}.</p>;`;
    const texts = sentencesOf(ts.createSourceFile("a.tsx", source, ts.ScriptTarget.Latest, true));
    assert.deepEqual(texts, ["We cannot it.", `Word ${long}.`]);
    assert.deepEqual(overlong(texts), [`Word ${long}.`]);
    assert.deepEqual(avoidedIn(texts[0]), ["cannot"]);
  });
}

export function overlong(texts) {
  return texts.filter((text) => text.split(" ").length > LONGEST);
}

/** Returns the words of a text that docs/words.md replaces. `mail server` is allowed. */
export function avoidedIn(text) {
  const plain = text.toLowerCase().replaceAll("’", "'");
  return AVOIDED.filter((word) => new RegExp(`\\b${word}\\b(?! servers?\\b)`).test(plain));
}

function allSentences() {
  return readdirSync(SOURCES, { recursive: true })
    .filter((file) => /\.tsx?$/.test(file) && !file.endsWith("schema.ts") && !file.endsWith(".d.ts"))
    .flatMap((file) => {
      const text = readFileSync(path.join(SOURCES, file), "utf8");
      const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
      return sentencesOf(source).map((sentence) => ({ file, text: sentence }));
    });
}

/** Returns a module's texts for people: the text of its elements, and its strings of several words. */
function sentencesOf(source) {
  const texts = [];
  const visit = (node) => {
    if (ts.isImportDeclaration(node)) return;
    if (ts.isJsxElement(node) || ts.isJsxFragment(node)) {
      if (!isInline(node) || !isInline(node.parent)) texts.push(...runsOf(node));
    } else if (ts.isStringLiteral(node)) texts.push(node.text);
    else if (ts.isNoSubstitutionTemplateLiteral(node)) {
      // A text of many lines is a program and isn't read.
      if (node.text.split("\n").length < PROGRAM) texts.push(node.text);
    } else if (ts.isTemplateExpression(node))
      texts.push(node.head.text + node.templateSpans.map((span) => `it${span.literal.text}`).join(""));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return texts
    .flatMap((text) => text.replace(/\s+/g, " ").split(/(?<=[.?!:;])\s+(?=[A-Z“"(])/))
    .map((text) => text.trim())
    .filter((text) => text.split(" ").length >= FEWEST)
    .filter((text) => /^[A-Z“"{(]|[.?!]$/.test(text));
}

/** Returns the texts of an element, split at each inner block. */
function runsOf(element) {
  const runs = [""];
  const read = (node) => {
    if (ts.isJsxText(node)) runs.push(runs.pop() + node.text);
    else if (ts.isJsxExpression(node)) {
      const { expression } = node;
      if (expression !== undefined && ts.isStringLiteral(expression)) runs.push(runs.pop() + expression.text);
      else runs.push(`${runs.pop()}it`);
    } else if (isInline(node)) node.children.forEach(read);
    else runs.push("");
  };
  element.children.forEach(read);
  return runs;
}

function isInline(node) {
  return ts.isJsxElement(node) && INLINE.includes(node.openingElement.tagName.getText());
}
