import { loadConsole } from "@devtool/console";
import { TaskState } from "@devtool/schema";
import { type Agent, type AgentEvent, createServer, type DevtoolServer } from "@devtool/server";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ConsolePage, openConsole } from "./console/console-page.ts";
import { CHROMIUM, launch } from "./outer/browser.ts";

/** An agent that says what the prompt says. */
const parrot: Agent = {
  about: { name: "Parrot", description: "Repeats what it hears." },
  open: () => ({
    createExecutor: () => ({
      async *execute({ prompt }): AsyncIterable<AgentEvent> {
        const text = prompt?.parts.map(({ content }) => (content.case === "text" ? content.value : "")).join("") ?? "";
        yield { case: "text", value: text };
        yield { case: "end", value: { state: TaskState.COMPLETED, text: "" } };
      },
    }),
  }),
};

/** A text in Markdown, and the elements in which the console shows it. */
interface Sample {
  readonly name: string;
  readonly text: string;
  readonly html: string;
}

const SAMPLES: readonly Sample[] = [
  {
    name: "paragraphs and what is in a line",
    text: "Some *em*, **strong**, ~~gone~~ and `a &amp; *b*`.\nOne \\*line\\*.  \nNext line\n\nEnd.",
    html:
      "<p>Some <em>em</em>, <strong>strong</strong>, <del>gone</del> and <code>a &amp;amp; *b*</code>.\n" +
      "One *line*.<br>Next line</p><p>End.</p>",
  },
  {
    name: "character references, also in an address",
    text: "&copy; A &amp; B &lt;i&gt; &#8594; &unknown; [more](https://a.example/?x=1&amp;y=2)",
    html:
      "<p>© A &amp; B &lt;i&gt; → &amp;unknown; " +
      '<a href="https://a.example/?x=1&amp;y=2" target="_blank" rel="noreferrer noopener">more</a></p>',
  },
  {
    name: "addresses, and no link that would run a script",
    text: "<https://a.example/?a&amp> www.a.example/b?c&d me@a.example [x](JavaScript:alert(1)) [y](data:text/html,z) [z](java&Tab;script:z)",
    html:
      '<p><a href="https://a.example/?a&amp;amp" target="_blank" rel="noreferrer noopener">https://a.example/?a&amp;amp</a> ' +
      '<a href="http://www.a.example/b?c&amp;d" target="_blank" rel="noreferrer noopener">www.a.example/b?c&amp;d</a> ' +
      '<a href="mailto:me@a.example" target="_blank" rel="noreferrer noopener">me@a.example</a> x y z</p>',
  },
  {
    name: "images by their names",
    text: "![a &amp; b](https://a.example/i.png) ![](j.png)",
    html: '<p><span class="citation">a &amp; b</span> <span class="citation">j.png</span></p>',
  },
  {
    name: "headings below those of the page",
    text: "# One\n\nTwo\n---\n\n###### Six",
    html: "<h2>One</h2><h3>Two</h3><h6>Six</h6>",
  },
  {
    name: "lists, tight and loose, with numbers and with boxes",
    text: "- a\n  - [x] done\n  - [ ] open\n- b\n\n3. three\n\n   more\n4. four",
    html:
      "<ul><li>a<ul><li>☑ done</li><li>☐ open</li></ul></li><li>b</li></ul>" +
      '<ol start="3"><li><p>three</p><p>more</p></li><li><p>four</p></li></ol>',
  },
  {
    name: "quotes, code and lines",
    text: "> quoted\n> > twice\n\n```ts\nif (a < b) &amp;\n```\n\n***\n\n    indented",
    html:
      "<blockquote><p>quoted</p><blockquote><p>twice</p></blockquote></blockquote>" +
      '<pre tabindex="0"><code>if (a &lt; b) &amp;amp;</code></pre><hr><pre tabindex="0"><code>indented</code></pre>',
  },
  {
    name: "tables",
    text: "| a | b |\n| --- | ---: |\n| *1* | 2 \\| 3 |",
    html:
      '<div class="wide " tabindex="0" role="group"><table><thead><tr><th>a</th><th style="text-align: right;">b</th></tr></thead>' +
      '<tbody><tr><td><em>1</em></td><td style="text-align: right;">2 | 3</td></tr></tbody></table></div>',
  },
  {
    name: "HTML as text",
    text: "a <b>c</b> <img src=x onerror=alert(1)>\n\n<script>alert(1)</script>",
    html: "<p>a &lt;b&gt;c&lt;/b&gt; &lt;img src=x onerror=alert(1)&gt;</p><p>&lt;script&gt;alert(1)&lt;/script&gt;</p>",
  },
];

describe.skipIf(CHROMIUM === undefined)("Markdown in the console (skipped without Chromium)", () => {
  let browser: Browser;
  let server: DevtoolServer;
  let opened: ConsolePage;

  beforeAll(async () => {
    server = await createServer({ agents: { parrot }, workspace: process.cwd(), site: await loadConsole() });
    browser = await launch();
    opened = await openConsole(browser, server);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  it.each(SAMPLES)("shows $name", async ({ text, html }) => {
    const { page } = opened;
    await page.getByRole("link", { name: "New session" }).click();
    await page.getByLabel("Message").fill(text);
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator('.session-about .state[data-state="COMPLETED"]').waitFor();
    await page.locator('.scroll[aria-busy="false"]').waitFor();
    expect(await page.locator(".prose").innerHTML()).toBe(html);
    expect(opened.faults()).toEqual([]);
    expect(await page.evaluate("globalThis.violations")).toBeUndefined();
  });
});
