import { loadConsole } from "@devtool/console";
import { TaskState } from "@devtool/schema";
import {
  type Agent,
  type AgentEvent,
  createServer,
  type DevtoolServer,
} from "@devtool/server";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHROMIUM, launch } from "../outer/browser.ts";
import { type ConsolePage, openConsole } from "./console-page.ts";

/** An agent that says what the prompt says, or the text of that name. */
const parrot: Agent = {
  about: { name: "Parrot", description: "Repeats what it hears." },
  open: () => ({
    createExecutor: () => ({
      async *execute({ prompt }): AsyncIterable<AgentEvent> {
        const text =
          prompt?.parts
            .map(({ content }) =>
              content.case === "text" ? content.value : "",
            )
            .join("") ?? "";
        yield { case: "text", value: NAMED.get(text) ?? text };
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
      '<pre tabindex="0"><code><span class="code-keyword">if</span> (a &lt; b) &amp;amp;</code></pre><hr><pre tabindex="0"><code>indented</code></pre>',
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

/** Blocks that marked would read for seconds. */
const COSTLY: readonly [string, string][] = [
  [
    "emphasis that opens and never closes",
    "*a ".repeat(3000) + "b* ".repeat(3000),
  ],
  [
    "emphasis between empty list items, which do not end a paragraph",
    "*a\n+ \n".repeat(1500) + "b*\n+ \n".repeat(1500),
  ],
  [
    "emphasis in one cell of a table",
    `| a |\n| - |\n| ${"*a \\| ".repeat(1500)}${"b* ".repeat(1500)} |`,
  ],
  ["tildes", "~a ".repeat(3000) + "b~ ".repeat(3000)],
  ["exclamation marks", "!".repeat(18_000)],
  ["a word that may be an address", `${"a.".repeat(9000)}@b`],
];

/** Lines that open more levels than a browser can lay out. */
const DEEP: readonly [string, string][] = [
  ["quotes in quotes", `${">".repeat(9000)} a`],
  ["lists in lists", "+ ".repeat(9000)],
];

/** Texts with as many marks, which marked reads fast. */
const CHEAP: readonly [string, string, number][] = [
  ["a list", "- **a** of *list_one*\n".repeat(300), 300],
  [
    "a table",
    `| a | b |\n| - | - |\n${"| **a** | snake_case_name 1.5 |\n".repeat(300)}`,
    300,
  ],
  ["code", `**a**\n\n\`\`\`\n${"*a ".repeat(3000)}\n\`\`\``, 1],
];

/**
 * Long texts, which the agent says by their names: a browser takes seconds to
 * enter their lines.
 */
const NAMED: ReadonlyMap<string, string> = new Map([
  ...COSTLY.map(([name, text]) => [name, `**kept**\n\n${text}`] as const),
  ...[...DEEP, ...CHEAP].map(([name, text]) => [name, text] as const),
]);

describe.skipIf(CHROMIUM === undefined)(
  "Markdown in the console (skipped without Chromium)",
  () => {
    let browser: Browser;
    let server: DevtoolServer;
    let opened: ConsolePage;

    beforeAll(async () => {
      server = await createServer({
        agents: { parrot },
        workspace: process.cwd(),
        site: await loadConsole(),
      });
      browser = await launch();
      opened = await openConsole(browser, server);
    });
    afterAll(async () => {
      await browser?.close();
      await server?.close();
    });

    it.each(SAMPLES)("shows $name", async ({ text, html }) => {
      const { page } = opened;
      await say(text);
      expect(await page.locator(".prose").innerHTML()).toBe(html);
      expect(opened.faults()).toEqual([]);
      expect(await page.evaluate("globalThis.violations")).toBeUndefined();
    });

    it.each(COSTLY)(
      "shows as plain text, and nothing beside it: %s",
      async (name, text) => {
        await say(name);
        expect(
          await opened.page.locator(".prose p.plain").first().textContent(),
        ).toContain(text.slice(0, 20));
        expect(await opened.page.locator(".prose strong").count()).toBe(1);
        expect(await opened.page.locator(".prose em, .prose del").count()).toBe(
          0,
        );
      },
    );

    it.each(DEEP)(
      "shows the whole answer as plain text: %s",
      async (name, text) => {
        await say(name);
        expect(await opened.page.locator(".prose").textContent()).toBe(text);
      },
    );

    it.each(CHEAP)("shows the many marks of %s", async (name, _, strong) => {
      await say(name);
      expect(await opened.page.locator(".prose strong").count()).toBe(strong);
      expect(await opened.page.locator(".prose p.plain").count()).toBe(0);
    });

    /** Starts a session with a text, and waits until its answer is shown. */
    async function say(text: string): Promise<void> {
      const { page } = opened;
      await page.getByRole("link", { name: "New session" }).click();
      // The session before it has a composer of the same name.
      await page.locator(".session.empty").waitFor();
      await page.getByLabel("Message").fill(text);
      await page.getByRole("button", { name: "Send" }).click();
      await page
        .locator('.session-about .state[data-state="COMPLETED"]')
        .waitFor();
      await page.locator('.scroll[aria-busy="false"]').waitFor();
    }
  },
);
