import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseAst } from "vite";
import { describe, expect, it } from "vitest";
import { de } from "../page/messages/de.ts";
import { en } from "../page/messages/en.ts";
import { zh } from "../page/messages/zh.ts";
import { countText, fillText } from "../page/words.ts";

const directory = fileURLToPath(new URL("../page/", import.meta.url));
const files = readdirSync(directory).filter((name) =>
  /^[^.]+\.tsx?$/.test(name),
);
const sources = new Map(
  files.map((name) => [name, readFileSync(`${directory}${name}`, "utf8")]),
);

/**
 * What is shown as it is in all languages: a protocol, and what is typed in a
 * terminal.
 */
const NAMES = ["Connect", "devtool console", "devtool pair"];

/** Attributes that are read to a user or shown. */
const SHOWN = ["aria-label", "alt", "placeholder", "title", "label"];

describe("the texts of the console", () => {
  it.each(Object.entries({ de, zh }))(
    "are all there in %s, and none more",
    (_name, words) => {
      // The server's labels of answers are English already.
      expect(keysOf({ ...words, options: {} })).toEqual(keysOf(en));
      for (const text of textsOf(words)) expect(text.trim()).not.toBe("");
    },
  );

  it.each(Object.entries({ de, zh }))(
    "have a place for a number or a name in %s where English has one",
    (_name, words) => {
      const english = { ...en, options: words.options };
      const places = (texts: object): boolean[] =>
        textsOf(texts).map((text) => text.includes("#"));
      expect(places(words)).toEqual(places(english));
    },
  );

  it("name one thing in the singular, and a number of things in the plural", () => {
    expect([0, 1, 2].map((count) => countText(en.waiting, count))).toEqual([
      "0 sessions wait for you",
      "1 session waits for you",
      "2 sessions wait for you",
    ]);
    expect(countText(de.tokens, 1n)).toBe("1 Token");
  });

  it("show a name as it is", () => {
    expect(fillText(en.answeredBy, "$& #")).toBe("answered by $& #");
  });

  it("have the wide punctuation of Chinese beside Chinese characters", () => {
    expect(
      textsOf(zh).filter((text) => /\p{Script=Han} ?[,.:;?!()]/u.test(text)),
    ).toEqual([]);
  });

  it("are all used", () => {
    const all = [...sources.values()].join("\n");
    const parts = /SESSION_PARTS[^;]*;/.exec(all)?.[0] ?? "";
    const unused = Object.keys(en).filter(
      (key) => !all.includes(`words.${key}`) && !parts.includes(`"${key}"`),
    );
    expect(unused).toEqual([]);
  });

  it("are in the message files alone", () => {
    const found = [...sources].flatMap(([name, source]) =>
      shownTexts(source).map((text) => `${name}: ${text}`),
    );
    expect(found).toEqual([]);
  });

  it("are found where they are not (sabotage)", () => {
    const source =
      '<p title="One">Two {"Three"} {three} <code>Connect</code> · 4</p>;';
    expect(shownTexts(source)).toEqual(["One", "Two", "Three"]);
  });
});

function keysOf(words: object, before = ""): string[] {
  return Object.entries(words)
    .flatMap(([key, value]) =>
      typeof value === "object"
        ? keysOf(value, `${before}${key}.`)
        : [`${before}${key}`],
    )
    .sort();
}

function textsOf(words: object): string[] {
  return Object.values(words).flatMap((value) =>
    typeof value === "string" ? [value] : textsOf(value),
  );
}

/**
 * Returns the texts in the elements of a source, and in the attributes that are
 * shown.
 */
function shownTexts(source: string): string[] {
  const texts: string[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    const { type, value, expression } = {
      type: "",
      value: "",
      expression: undefined,
      ...node,
    };
    if (type === "JSXText") texts.push(String(value).trim());
    if (type === "JSXExpressionContainer") texts.push(literalOf(expression));
    if (type === "JSXAttribute") {
      visitAttribute(node);
    } else {
      for (const child of Object.values(node)) visit(child);
    }
  };
  const visitAttribute = (node: object): void => {
    if (!("name" in node && "value" in node)) return;
    if (
      SHOWN.some((name) =>
        JSON.stringify(node.name).includes(`"name":"${name}"`),
      )
    ) {
      texts.push(literalOf(node.value));
    }
    if (JSON.stringify(node.value)?.includes("JSXElement")) visit(node.value);
  };
  visit(parseAst(source, { lang: "tsx" }, "page.tsx"));
  return texts.filter((text) => /\p{L}/u.test(text) && !NAMES.includes(text));
}

/** Returns the text of a literal, and an empty one for other expressions. */
function literalOf(node: unknown): string {
  if (
    typeof node !== "object" ||
    node === null ||
    !("type" in node) ||
    !("value" in node)
  ) {
    return "";
  }
  return node.type === "Literal" && typeof node.value === "string"
    ? node.value
    : "";
}
