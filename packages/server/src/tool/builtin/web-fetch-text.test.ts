import { describe, expect, it } from "vitest";
import { readableText } from "./web-fetch-text.ts";

describe("readableText", () => {
  const read = (html: string) => readableText(html, "https://example.test/docs/");

  it("keeps title, headings, items, links, tables and preformatted text", () => {
    expect(
      read(`<html><head><title>The
        page</title><style>p { color: red }</style></head><body><h1>Head</h1><p>One
        <b>two</b> <a href="a.html">three</a> <a href="#top">up</a></p><ul><li>x<li>y</ul>
        <pre>a
  b</pre><table><tr><td>1</td><td>2</td></tr></table></body></html>`),
    ).toBe(
      [
        "# The page",
        "",
        "# Head",
        "",
        "One two three (https://example.test/docs/a.html) up",
        "",
        "- x",
        "- y",
        "",
        "a",
        "  b",
        "",
        "1 | 2 |",
      ].join("\n"),
    );
  });

  it("drops what is not for reading, decodes characters and shows no target that cannot be fetched", () => {
    expect(read("a<script>if (1 < 2) '</p>'</script>b<!-- <p>no</p> --> &lt;&#65;&#x42;&nbsp;&bogus; 1 < 2")).toBe(
      "ab <AB &bogus; 1 < 2",
    );
    expect(read('<a href="javascript:x">j</a> <a href=/r>r</a>')).toBe("j r (https://example.test/r)");
  });

  it("goes over a hostile page in no time", () => {
    for (const piece of ["<", "<a href='", "<script>", "<!--", "<pre>", "&#x", "<title", "</", "&lt;", " \n"]) {
      const began = performance.now();
      read(piece.repeat(200_000));
      expect(performance.now() - began, piece).toBeLessThan(1500);
    }
  });
});
