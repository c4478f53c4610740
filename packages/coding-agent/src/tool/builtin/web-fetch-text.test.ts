import { describe, expect, it } from "vitest";
import { readableText } from "./web-fetch-text.ts";

describe("readableText", () => {
  const read = (html: string) =>
    readableText(html, "https://example.test/docs/");

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

  it("drops hidden elements, decodes characters and omits targets that cannot be fetched", () => {
    expect(
      read(
        "a<script>if (1 < 2) '</p>'</script>b<!-- <p>no</p> --> &lt;&#65;&#x42;&nbsp;&bogus; 1 < 2",
      ),
    ).toBe("ab <AB &bogus; 1 < 2");
    expect(read('<a href="javascript:x">j</a> <a href=/r>r</a>')).toBe(
      "j r (https://example.test/r)",
    );
  });

  it("handles all entities, special characters in attributes and unclosed elements", () => {
    expect(
      read(
        '&eacute;&rarr;<a title="a>b" href="x?a=1&amp;b=2">c</a><div>d<div>e<p>f',
      ),
    ).toBe("é→c (https://example.test/docs/x?a=1&b=2)\nd\ne\n\nf");
  });

  it("reads a deeply nested page up to a depth of a thousand elements", () => {
    expect(read(`start ${"<div>".repeat(100_000)}end`)).toBe("start");
    expect(read(`start ${"<div>".repeat(900)}end`)).toBe("start\n\nend");
  });

  it("reads a hostile page in linear time", () => {
    const pieces = [
      "<",
      "<a href='",
      "<script>",
      "<!--",
      "<pre>",
      "&#x",
      "<title",
      "</",
      "&lt;",
      " \n",
      "<table><tr>",
    ];
    for (const piece of pieces) {
      const began = process.cpuUsage();
      read(piece.repeat(200_000));
      // One pass takes a tenth of a second. A pass per element would take
      // minutes.
      expect(process.cpuUsage(began).user / 1e6, piece).toBeLessThan(20);
    }
  });
});
