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

  it("knows every entity, signs in attributes and elements that are not closed", () => {
    expect(read('&eacute;&rarr;<a title="a>b" href="x?a=1&amp;b=2">c</a><div>d<div>e<p>f')).toBe(
      "é→c (https://example.test/docs/x?a=1&b=2)\nd\ne\n\nf",
    );
  });

  it("reads a page that nests without end up to a thousand elements within each other", () => {
    expect(read(`start ${"<div>".repeat(100_000)}end`)).toBe("start");
    expect(read(`start ${"<div>".repeat(900)}end`)).toBe("start\n\nend");
  });

  it("goes over a hostile page once", () => {
    const pieces = ["<", "<a href='", "<script>", "<!--", "<pre>", "&#x", "<title", "</", "&lt;", " \n", "<table><tr>"];
    for (const piece of pieces) {
      const began = process.cpuUsage();
      read(piece.repeat(200_000));
      // Going over it again for each piece takes minutes; once takes a tenth of a second.
      expect(process.cpuUsage(began).user / 1e6, piece).toBeLessThan(20);
    }
  });
});
