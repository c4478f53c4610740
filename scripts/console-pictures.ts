/**
 * Takes the pictures of the console in the documentation, and the icons of its
 * app, again: `npx -y pnpm@12 console-pictures`. With a directory, takes those of all its
 * states into that one, to look at.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  createDevtoolClient,
  createTaskView,
} from "@devtool/client";
import { type Model, serveCodingAgent, stepStart } from "@devtool/coding-agent";
import { loadConsole } from "@devtool/console";
import {
  AgentThoughtSchema,
  BrowserAccessService,
  UsageSchema,
} from "@devtool/schema";
import type { Browser, Page } from "playwright-core";
import { launch } from "../test/outer/browser.ts";

const destination = resolve(process.argv[2] ?? "docs/pictures");

/** The pictures in the documentation. */
const SHOWN = ["session-light-1280", "session-dark-320"];

/** A model that always finds the same fault, for the pictures. */
const model: Model = {
  name: "example-model",
  async *generate({ history }) {
    const { message } = stepStart(history);
    const prompt = message?.parts
      .map(({ content }) => (content.case === "text" ? content.value : ""))
      .join("");
    if (prompt?.startsWith("Uploads")) {
      const value = {
        subject: "Where a connection can wait",
        description: "The limits are in one file.",
      };
      yield { case: "thought", value: create(AgentThoughtSchema, value) };
      yield { case: "text", value: FOUND };
      const command = "cat test-results.txt";
      yield {
        case: "toolCall",
        value: { name: "run_shell_command", args: { command } },
      };
      yield {
        case: "toolCall",
        value: { name: "read_file", args: { file_path: "limits.ts" } },
      };
      yield {
        case: "toolCall",
        value: {
          name: "write_file",
          args: { file_path: "limits.ts", content: AFTER },
        },
      };
    } else {
      yield { case: "text", value: "Done." };
    }
    yield {
      case: "usage",
      value: create(UsageSchema, { inputTokens: 8412n, outputTokens: 655n }),
    };
  },
};

const FOUND = `Two of the routes answer **before the body is read**, so a slow client holds a connection:

| route | waits | closes |
| --- | --- | --- |
| \`/upload\` | yes | no |
| \`/health\` | no | yes |

I raise the limit for bodies, and add one for their size.`;
const BEFORE = "export const bodyMs = 10_000;\nexport const idleMs = 5_000;\n";
const AFTER =
  "export const bodyMs = 30_000;\nexport const idleMs = 5_000;\nexport const maxBytes = 4_194_304;\n";

const base = await mkdtemp(join(tmpdir(), "pictures-"));
const workspace = join(base, "shop-api");
await mkdir(workspace);
await writeFile(join(workspace, "limits.ts"), BEFORE);
await writeFile(
  join(workspace, "test-results.txt"),
  "\u001b[32m12 passed\u001b[0m\n\u001b[31m1 failed\u001b[0m: upload of a slow client\n",
);
await mkdir(destination, { recursive: true });
await using server = await serveCodingAgent({
  workspace,
  model,
  site: await loadConsole(),
});
const interceptors = [bearerInterceptor(server.token)];
const transport = createConnectTransport({
  baseUrl: server.url,
  httpVersion: "1.1",
  interceptors,
});
const client = createDevtoolClient(transport);
const soon = (): AbortSignal => AbortSignal.timeout(60_000);

for (const prompt of [
  "Which tests are slow?",
  "Write release notes for 2.4",
  "Rename the module of prices",
]) {
  await createTaskView(client).send(prompt, soon());
}
const review = createTaskView(client);
await review.send(
  "Uploads of slow clients hold connections open. Find out why.",
  soon(),
);
const { id } = review.snapshot().task;

const browser = await launch();
try {
  for (const scheme of ["light", "dark"] as const) {
    for (const width of [1280, 320]) {
      await using page = await open(browser, scheme, width);
      await picture(page, `list-${scheme}-${width}`);
      await page.goto(`${server.url}/console/#/session/${id}`);
      // Answers are accepted after a moment, and then look enabled.
      await page
        .locator('.options button[aria-disabled="false"]')
        .first()
        .waitFor();
      await page.locator(".call > summary").first().click();
      await picture(page, `session-${scheme}-${width}`);
      await page.goto(`${server.url}/console/#/new/1`);
      await page.getByRole("textbox").last().fill("/");
      await page.getByRole("listbox").waitFor();
      await picture(page, `new-${scheme}-${width}`);
      await page.goto(`${server.url}/console/#/server`);
      await page.locator(".server li").first().waitFor();
      await picture(page, `server-${scheme}-${width}`);
    }
  }
  if (process.argv[2] === undefined) await drawIcons(browser);
} finally {
  await browser.close();
  await rm(base, { recursive: true });
}

/** Draws the icons of the app, which fill their square: systems cut them. */
async function drawIcons(from: Browser): Promise<void> {
  const icon = await readFile("packages/console/page/icon.svg", "utf8");
  for (const size of [192, 512]) {
    const viewport = { width: size, height: size };
    await using page = await from.newPage({ viewport });
    await page.setContent(
      `<body style="margin:0;background:#0b5f52">${icon}</body>`,
    );
    const path = `packages/console/page/public/icon-${size}.png`;
    await page.screenshot({ path });
  }
}

async function open(
  from: Browser,
  colorScheme: "light" | "dark",
  width: number,
): Promise<Page> {
  const page = await from.newPage({
    colorScheme,
    viewport: { width, height: width > 700 ? 860 : 640 },
    deviceScaleFactor: 2,
  });
  const { code } = await createClient(
    BrowserAccessService,
    transport,
  ).createAccessCode({});
  await page.goto(`${server.url}/console/#code=${code}`);
  await page.locator(".row").first().waitFor();
  return page;
}

async function picture(page: Page, name: string): Promise<void> {
  if (process.argv[2] === undefined && !SHOWN.includes(name)) return;
  await page.screenshot({
    path: join(destination, `${name}.png`),
    animations: "disabled",
  });
}
