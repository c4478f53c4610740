import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The pages that are there in Chinese, too, by their paths in English. */
const PAGES = [
  "README.md",
  "docs/start-run.md",
  "docs/start-import.md",
  "docs/start-generate.md",
];

describe("the Chinese pages", () => {
  it("are the README and the three pages of ten minutes", () => {
    const found = ["", "docs/"].flatMap((directory) =>
      readdirSync(join(root, directory)).flatMap((name) =>
        name.endsWith(".zh-CN.md")
          ? [`${directory}${name.replace(".zh-CN", "")}`]
          : [],
      ),
    );
    expect(found.sort()).toEqual([...PAGES].sort());
  });

  it.each(PAGES)("have the commands and the code of %s, in order", (page) => {
    const blocks = blocksOf(read(page));
    expect(blocks.length).toBeGreaterThan(5);
    expect(blocksOf(read(inChinese(page)))).toEqual(blocks);
  });

  it.each(PAGES)(
    "have the sections, lists, tables and pictures of %s",
    (page) => {
      const shape = shapeOf(read(page));
      expect(shape.length).toBeGreaterThan(10);
      expect(shapeOf(read(inChinese(page)))).toEqual(shape);
    },
  );

  it.each(PAGES)(
    "name the same commands, flags and files in the text of %s",
    (page) => {
      expect(namesIn(read(inChinese(page)))).toEqual(namesIn(read(page)));
    },
  );

  it.each(PAGES)(
    "are linked from %s and back, and lead to each other",
    (page) => {
      const english = read(page);
      const chinese = read(inChinese(page));
      expect(english).toContain(`](${basename(inChinese(page))})`);
      expect(chinese).toContain(`](${basename(page)})`);
      for (const other of PAGES.slice(1)) {
        const name = basename(other);
        const links = chinese.split("\n").slice(4).join("\n");
        expect(links, `${page} leads to the English ${name}`).not.toMatch(
          new RegExp(`\\]\\((docs/)?${name.replaceAll(".", "\\.")}[)#]`),
        );
      }
    },
  );

  it("have the wide punctuation of Chinese beside Chinese characters", () => {
    const narrow = PAGES.flatMap((page) =>
      prose(read(inChinese(page)))
        .replaceAll(/\]\([^)]*\)/g, "]")
        .split("\n")
        .filter((line) => /\p{Script=Han}[,:;?!()]/u.test(line)),
    );
    expect(narrow).toEqual([]);
  });
});

function inChinese(page: string): string {
  return join(dirname(page), basename(page, ".md").concat(".zh-CN.md"));
}

function read(page: string): string {
  return readFileSync(join(root, page), "utf8");
}

/** Returns the blocks of code with the comments by which tests find them. */
function blocksOf(text: string): string[] {
  return text.match(/(?:<!-- .* -->\n)?```\w*\n[\s\S]*?```/g) ?? [];
}

function prose(text: string): string {
  return text.replaceAll(/```\w*\n[\s\S]*?```/g, "");
}

/** Returns the kinds of lines that begin something, in order. */
function shapeOf(text: string): string[] {
  return prose(text)
    .split("\n")
    .flatMap((line) => /^(#+ |- |\| |!\[|\d+\. )/.exec(line)?.[0] ?? []);
}

/** Returns what is written in code in the text, once each, in order. */
function namesIn(text: string): string[] {
  const named = prose(text).match(/`[^`]+`/g) ?? [];
  return [...new Set(named.map((name) => name.replaceAll(/\s+/g, " ")))].sort();
}
