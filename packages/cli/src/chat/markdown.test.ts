import stringWidth from "string-width";
import { describe, expect, it } from "vitest";
import type { Paint } from "../render/style.ts";
import { renderMarkdown } from "./markdown.ts";

const plain: Paint = (_look, text) => text;
const marked: Paint = (look, text) => `<${look}>${text}</>`;

describe("Markdown in the terminal", () => {
  it.each([
    ["a heading", "## Why\n", ["<heading>## Why</>"]],
    [
      "emphasis",
      "**a** *b* ~~c~~ `d`",
      ["<strong>a</> <emphasis>b</> <struck>c</> <code>d</>"],
    ],
    [
      "a link with its target",
      "[here](https://x.example/y)",
      ["<link>here</><dim> (https://x.example/y)</>"],
    ],
    [
      "a bare link once",
      "https://x.example",
      ["<link>https://x.example</><dim></>"],
    ],
    [
      "code",
      "```js\nlet a;\n\n  b\n```",
      ["  <dim>js</>", "  <code>let a;</>", "  <code></>", "  <code>  b</>"],
    ],
    ["a list", "- one\n- two\n  - three\n", ["• one", "• two", "  • three"]],
    ["numbers", "3. one\n4. two", ["3. one", "4. two"]],
    ["tasks", "- [x] done\n- [ ] open", ["• [x] done", "• [ ] open"]],
    ["a quotation", "> said\n> so", ["<dim>│ </>said", "<dim>│ </>so"]],
    ["HTML as it is", "<b>bold</b>", ["<b>bold</b>"]],
    ["characters that stand for themselves", "a \\* b", ["a * b"]],
  ])("has %s", (_, text, lines) => {
    expect(renderMarkdown(text, { paint: marked, columns: 60 }).flat()).toEqual(
      lines,
    );
  });

  it("has tables", () => {
    const text =
      "| name | what |\n|---|---|\n| `a` | first |\n| 寸 | second one |\n";
    expect(renderMarkdown(text, { paint: plain, columns: 60 })).toEqual([
      [
        "name │ what      ",
        "─────┼───────────",
        "a    │ first     ",
        "寸   │ second one",
      ],
    ]);
  });

  it("keeps within its columns, whatever it holds", () => {
    const text = `# ${"long ".repeat(20)}\n\n- ${"item ".repeat(20)}\n  - ${"x".repeat(90)}\n\n> ${"said ".repeat(20)}\n
\`\`\`\n${"code".repeat(30)}\n\`\`\`\n\n| a | b |\n|---|---|\n| ${"cell ".repeat(20)} | ${"寸".repeat(30)} |\n`;
    for (const columns of [16, 38, 100]) {
      const lines = renderMarkdown(text, { paint: plain, columns }).flat();
      expect(lines.filter((line) => stringWidth(line) > columns)).toEqual([]);
    }
  });

  it("separates blocks", () => {
    expect(
      renderMarkdown("one\n\n\ntwo\n# three\n", { paint: plain, columns: 60 }),
    ).toEqual([["one"], ["two"], ["# three"]]);
  });

  const hostile = "\u001b[2J\u009b1A\u202e\r&#27;[2J&#x9b;1A&#x202e;";
  it.each([
    ["text", `a${hostile}b`],
    ["a heading", `# a${hostile}b`],
    ["strong text", `**a${hostile}b**`],
    ["a link's text", `[a${hostile}b](https://x.example)`],
    ["a link's target", `[a](<https://x.example/${hostile}b>)`],
    ["a link's title", `[a](https://x.example "${hostile}b")`],
    ["an image", `![a${hostile}b](c${hostile})`],
    ["code", `\`\`\`\na${hostile}b\n\`\`\``],
    ["the language of code", `\`\`\`a${hostile}b\nc\n\`\`\``],
    ["code in a line", `\`a${hostile}b\``],
    ["a table", `| a${hostile}b | c |\n|---|---|\n| d | e${hostile}f |`],
    ["a list", `- a${hostile}b`],
    ["a definition", `[a]: https://x.example/${hostile}\n\n[a]`],
    ["HTML", `<a${hostile}b>`],
    ["an entity", "&#27;[2J &#x9b;1A"],
  ])("shows what would change the terminal in %s", (_, text) => {
    const shown = renderMarkdown(text, { paint: plain, columns: 200 })
      .flat()
      .join("\n");
    expect(shown).not.toMatch(/[\p{Cf}]|(?!\n)\p{Cc}/u);
  });
});
