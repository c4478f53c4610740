import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { serveCodingAgent } from "@devtool/coding-agent";
import { startCuttingProxy } from "@devtool/conformance/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { documents } from "../../scripts/documents/documents.ts";
import { commonVersion } from "../../scripts/release/manifests.ts";
import { LEFT_TO_CI } from "../depth.ts";
import { startServing } from "../durability/crash/server-process.ts";
import { bundlePage, CHROMIUM, launch, serveFiles } from "../outer/browser.ts";
import { HAS_TMUX } from "../terminal/tmux.ts";
import { copyExamples, runExample } from "./examples.ts";
import { type FoundNode, findNode, OLDEST } from "./nodes.ts";
import { followPage } from "./page.ts";
import { PackedProject, programOf } from "./project.ts";
import { SAYS, snippetOf } from "./snippets.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const PUBLISHED = [
  "schema",
  "client",
  "react",
  "console",
  "server",
  "policy",
  "sandbox",
  "coding-agent",
  "gemini",
  "mcp",
  "conformance",
  "cli",
];
const HAS_PYTHON = spawnSync("python3", ["-m", "venv", "--help"]).status === 0;
const TOO_OLD = "20.20.2";
const OTHERS = [OLDEST, TOO_OLD];
/** What the application has: newer than what the lockfile of ours pins. */
const NEWER_CONNECT = "2.3.0";

/**
 * Reads a long answer through connections that break, over Connect and over
 * A2A, and prints how many gaps it saw.
 */
const RESUMING = `
import { createConnectTransport } from "@connectrpc/connect-node";
import { bearerInterceptor, createDevtoolClient, streamMessage, textMessage } from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";

const { DEVTOOL_URL: url, DEVTOOL_TOKEN: token } = process.env;
const connect = { baseUrl: url, httpVersion: "1.1", interceptors: [bearerInterceptor(token)], nodeOptions: { agent: false } };
for (const transport of [createConnectTransport(connect), createA2aTransport({ url, token })]) {
  const message = textMessage(crypto.randomUUID(), "say 150\\nwait 5\\nsay 150");
  const sequences = [];
  const signal = AbortSignal.timeout(60_000);
  const retries = { baseDelayMs: 1, maxAttempts: 1000 };
  for await (const { sequence } of streamMessage(createDevtoolClient(transport), { message }, signal, retries))
    sequences.push(Number(sequence));
  console.log(sequences.filter((sequence, index) => sequence !== index + 1).length, sequences.length > 300);
}
`;

describe.skipIf(LEFT_TO_CI !== "")(
  `the packed packages in another project${LEFT_TO_CI}`,
  () => {
    const nodes = new Map<string, FoundNode>([
      [process.versions.node, { program: process.execPath }],
    ]);
    let project: PackedProject;
    let scratch: string;
    beforeAll(async () => {
      for (const version of OTHERS) nodes.set(version, await findNode(version));
      project = await createProject();
      await copyExamples(project);
      scratch = temporaryDirectory();
    }, 400_000);

    describe.each([OLDEST, process.versions.node])("on Node %s", (version) => {
      it("have a command that serves and does a job", async ({ skip }) => {
        const node = programOf(nodes.get(version), skip);
        const [data, workspace] = [
          join(scratch, `data-${version}`),
          join(scratch, `work-${version}`),
        ];
        await mkdir(workspace);
        const main = join(
          project.directory,
          "node_modules/@devtool/cli/dist/main.js",
        );
        const flags = ["--data", data, "--workspace", workspace];
        const server = await startServing(
          flags,
          project.environment(),
          main,
          node,
        );
        const script = "write a.txt hello\nrun cat a.txt\ntext All is done.";
        for (const protocol of ["connect", "grpc", "a2a"]) {
          const ended = await project.devtool(
            node,
            "run",
            "--protocol",
            protocol,
            ...flags,
            "--approve",
            "all",
            script,
          );
          expect(ended, protocol).toMatchObject({
            code: 0,
            stdout: expect.stringContaining("All is done."),
          });
        }
        expect(await readFile(join(workspace, "a.txt"), "utf8")).toBe("hello");
        expect(await server.stop()).toBe(0);
        // It uses the same modules of Node as the server, and nothing is wrong
        // with them.
        expect(
          await project.devtool(node, "doctor", "--data", data),
        ).toMatchObject({ code: 0, stderr: "" });
      });

      it.for(Object.entries(SAYS))(
        "run the code in the README of %s",
        async ([name, says], { skip }) => {
          const node = programOf(nodes.get(version), skip);
          const workspace = await mkdtemp(join(scratch, "readme-"));
          await using server = await serveCodingAgent({ workspace });
          const environment = {
            DEVTOOL_URL: server.url,
            DEVTOOL_TOKEN: server.token,
          };
          expect(
            await project.runModule(node, await snippetOf(name), environment),
          ).toBe(says);
        },
      );

      it("have a client that goes on where its connection was lost", async ({
        skip,
      }) => {
        const node = programOf(nodes.get(version), skip);
        const workspace = await mkdtemp(join(scratch, "resume-"));
        await using proxy = await startCuttingProxy(
          () => server.url,
          () => 5000,
        );
        await using server = await serveCodingAgent({
          workspace,
          allowedHosts: [new URL(proxy.url).host],
        });
        const environment = {
          DEVTOOL_URL: proxy.url,
          DEVTOOL_TOKEN: server.token,
        };
        expect(await project.runModule(node, RESUMING, environment)).toBe(
          "0 true\n0 true\n",
        );
        expect(proxy.cuts()).toBeGreaterThan(4);
      });
    });

    it(`have a command that refuses Node ${TOO_OLD} in a sentence`, async ({
      skip,
    }) => {
      const node = programOf(nodes.get(TOO_OLD), skip);
      for (const args of [["serve"], ["--version"], ["run", "text hi"]]) {
        expect(await project.devtool(node, ...args)).toEqual({
          code: 1,
          stdout: "",
          stderr: `devtool: Node ${TOO_OLD} is too old: install Node 22.19 or newer\n`,
        });
      }
    });

    describe("are all that a reader needs who follows, word for word,", () => {
      it.skipIf(!HAS_TMUX)("docs/start-run.md (skipped without tmux)", () =>
        followPage(project, "start-run.md"),
      );
      it("docs/start-import.md", () => followPage(project, "start-import.md"));
      it.skipIf(!HAS_TMUX)("docs/own-agent.md (skipped without tmux)", () =>
        followPage(project, "own-agent.md"),
      );
      // Python's packages come from their registry.
      it.skipIf(!HAS_PYTHON)(
        "docs/start-generate.md (skipped without Python)",
        () => followPage(project, "start-generate.md"),
        600_000,
      );
    });

    describe.concurrent("run the example", () => {
      it("talk-to-an-agent", async () => {
        const workspace = await mkdtemp(join(scratch, "talk-"));
        await using server = await serveCodingAgent({ workspace });
        const environment = {
          DEVTOOL_URL: server.url,
          DEVTOOL_TOKEN: server.token,
        };
        const printed = await runExample(
          project,
          ["talk-to-an-agent/client.ts"],
          environment,
        );
        expect(printed).toMatch(/^ok$/m);
        expect(await readFile(join(workspace, "greeting.txt"), "utf8")).toBe(
          "Hello, world\n",
        );
      });

      it("host-your-agent", async () => {
        expect(
          await runExample(project, ["host-your-agent/client.ts"]),
        ).toMatch(/^ok$/m);
      });

      it("own-program, which is an adapter of at most 250 lines", async () => {
        const file = join(project.directory, "examples/own-program/agent.ts");
        const lines = (await readFile(file, "utf8")).trim().split("\n");
        expect(lines.length).toBeLessThanOrEqual(250);
        expect(await runExample(project, ["own-program/main.ts"])).toMatch(
          /^ok$/m,
        );
      });

      it("own-dialect, which is a file of at most 80 lines", async () => {
        const file = join(project.directory, "examples/own-dialect/hooks.ts");
        const lines = (await readFile(file, "utf8")).trim().split("\n");
        expect(lines.length).toBeLessThanOrEqual(80);
        expect(await runExample(project, ["own-dialect/main.ts"])).toMatch(
          /^ok$/m,
        );
      });

      it("review-loop", async () => {
        expect(await runExample(project, ["review-loop/main.ts"])).toMatch(
          /^ok$/m,
        );
      });

      it("router", async () => {
        expect(await runExample(project, ["router/main.ts"])).toMatch(/^ok$/m);
      });

      it("observer", async () => {
        expect(await runExample(project, ["observer/main.ts"])).toMatch(
          /^ok$/m,
        );
      });

      it("webhook", async () => {
        const workspace = await mkdtemp(join(scratch, "webhook-"));
        await using server = await serveCodingAgent({
          workspace,
          pushTargets: ["127.0.0.1:*"],
        });
        const environment = {
          DEVTOOL_URL: server.url,
          DEVTOOL_TOKEN: server.token,
        };
        expect(
          await runExample(project, ["webhook/client.ts", "0"], environment),
        ).toMatch(/^ok: \d+ events$/m);
      });

      it("policy-only", async () => {
        expect(await runExample(project, ["policy-only/main.ts"])).toMatch(
          /^ok$/m,
        );
      });

      it.skipIf(CHROMIUM === undefined).each([
        {
          name: "react",
          entry: "page.tsx",
          prompt: ["textarea[name=prompt]", "proposed"],
          answer: async (page: Page) => {
            await page.fill("fieldset textarea", "changed");
            await page.click("button[value=proceed_once]");
          },
          written: ["p.text:has-text('Written.')"],
          content: "changed",
        },
        {
          name: "ai-sdk",
          entry: "page.tsx",
          prompt: ["textarea", "From a chat"],
          answer: (page: Page) => page.click("text=Allow once"),
          written: ["p.assistant:has-text('Written.')"],
          content: "From a chat",
        },
        {
          name: "ag-ui",
          entry: "page.tsx",
          prompt: ["textarea", "From a thread"],
          answer: (page: Page) => page.click("button:has-text('Allow once')"),
          written: ["p.assistant:has-text('Written.')"],
          content: "From a thread",
        },
        {
          name: "browser",
          entry: "page.ts",
          prompt: ["textarea", "From a page"],
          answer: (page: Page) => page.click("button[value=proceed_once]"),
          written: [
            "li.text:has-text('Written.')",
            "li.state:has-text('COMPLETED')",
          ],
          content: "From a page",
        },
      ] as const)("$name (skipped without Chromium)", async (example) => {
        const { name, entry, prompt, answer, written, content } = example;
        const directory = join(project.directory, "examples", name);
        const script = await bundlePage(join(directory, entry));
        await using site = await serveFiles({
          "/": {
            type: "text/html",
            text: await readFile(join(directory, "index.html"), "utf8"),
          },
          "/page.js": { type: "text/javascript", text: script },
        });
        const workspace = await mkdtemp(join(scratch, `${name}-`));
        await using server = await serveCodingAgent({
          workspace,
          allowedOrigins: [site.origin],
        });
        await using browser = await launch();
        const page = await browser.newPage();
        await page.goto(
          `${site.origin}/#url=${server.url}&token=${server.token}`,
        );
        const [field, text] = prompt;
        await page.fill(field, `write page.txt ${text}\ntext Written.`);
        await page.click("text=Send");
        await answer(page);
        for (const selector of written) await page.waitForSelector(selector);
        expect(await readFile(join(workspace, "page.txt"), "utf8")).toBe(
          content,
        );
      });
    });

    it("share one copy of protobuf and of Connect with an application that has a newer Connect", async () => {
      const files = await readdir(join(project.directory, "node_modules"), {
        recursive: true,
      });
      expect(
        files
          .filter((file) =>
            /@(bufbuild\/protobuf|connectrpc\/connect)$/.test(file),
          )
          .toSorted(),
      ).toEqual(["@bufbuild/protobuf", "@connectrpc/connect"]);
      const manifest = join(
        project.directory,
        "node_modules/@connectrpc/connect/package.json",
      );
      expect(JSON.parse(await readFile(manifest, "utf8")).version).toBe(
        NEWER_CONNECT,
      );
    });

    it("have the licence, and READMEs whose links lead to files that are packed with them", async () => {
      for (const name of PUBLISHED) {
        const readme = join(
          project.directory,
          "node_modules/@devtool",
          name,
          "README.md",
        );
        const links = [
          ...(await readFile(readme, "utf8")).matchAll(
            /\]\((?!https?:|#)([^)#]+)/g,
          ),
        ].map(([, to = ""]) => to);
        expect(
          links.filter((to) => !existsSync(resolve(dirname(readme), to))),
          name,
        ).toEqual([]);
        expect(
          links.filter((to) => to.startsWith("..")),
          name,
        ).toEqual([]);
        expect(
          existsSync(join(dirname(readme), "LICENSE")),
          `the licence of ${name}`,
        ).toBe(true);
      }
    });

    it("have the documents that are made from the protos", () => {
      const schema = join(project.directory, "node_modules/@devtool/schema");
      for (const path of documents().keys()) {
        expect(existsSync(join(schema, "documents", path)), path).toBe(true);
      }
    });

    it("have READMEs that say how to install them, and whose code strict TypeScript takes", {
      timeout: 120_000,
    }, async () => {
      const version = commonVersion();
      for (const name of PUBLISHED) {
        const text = await readFile(
          join(root, "packages", name, "README.md"),
          "utf8",
        );
        expect(text, name).toMatch(
          new RegExp(
            `npm install (\\$CLONE/tarballs|\\.)/devtool-.*\\b${name}\\b.*-${RegExp.escape(version)}\\.tgz`,
          ),
        );
        expect(text, name).toContain("Node 22.19 or newer");
      }
      for (const name of Object.keys(SAYS)) {
        await writeFile(
          join(project.directory, `${name}.ts`),
          await snippetOf(name),
        );
      }
      const compilerOptions = {
        ...{
          strict: true,
          exactOptionalPropertyTypes: true,
          noUncheckedIndexedAccess: true,
          noEmit: true,
          skipLibCheck: true,
          allowImportingTsExtensions: true,
        },
        ...{
          module: "nodenext",
          target: "es2024",
          types: ["node"],
          typeRoots: [join(root, "node_modules/@types")],
        },
      };
      const files = [
        ...Object.keys(SAYS).map((name) => `${name}.ts`),
        ...[
          "talk-to-an-agent/client.ts",
          "host-your-agent/client.ts",
          "own-program/main.ts",
          "own-dialect/main.ts",
          "review-loop/main.ts",
          "router/main.ts",
          "observer/main.ts",
          "webhook/client.ts",
          "policy-only/main.ts",
        ].map((name) => `examples/${name}`),
      ];
      await writeFile(
        join(project.directory, "tsconfig.json"),
        JSON.stringify({ compilerOptions, files }),
      );
      const tsc = join(root, "node_modules/typescript/bin/tsc");
      const failed = await promisify(execFile)(process.execPath, [
        tsc,
        "-p",
        project.directory,
      ]).catch(({ stdout }) => stdout);
      expect(failed).toMatchObject({ stdout: "" });
    });
  },
);

/** A project with all packages of ours. */
async function createProject(): Promise<PackedProject> {
  const { devDependencies } = JSON.parse(
    await readFile(join(root, "package.json"), "utf8"),
  );
  const others = [
    ...["react", "react-dom", "ai", "@ai-sdk/react", "@ag-ui/client"],
    ...["@a2a-js/sdk", "express"],
  ];
  return PackedProject.install([
    `@connectrpc/connect-node@${NEWER_CONNECT}`,
    `@connectrpc/connect-web@${NEWER_CONNECT}`,
    ...others.map((name) => `${name}@${devDependencies[name]}`),
  ]);
}
