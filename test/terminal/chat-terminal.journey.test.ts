import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { create } from "@bufbuild/protobuf";
import { writeDiscovery } from "@devtool/cli/testing";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type Message, Role } from "@devtool/schema";
import { ServerInfoSchema } from "@devtool/schema/operator";
import type { DevtoolServer } from "@devtool/server";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
} from "vitest";
import { clientOf } from "../client-of.ts";
import { LEFT_TO_CI } from "../depth.ts";
import { GatedModel } from "../durability/message-queue/gated-model.ts";
import { MAIN } from "../our-command.ts";
import { HAS_TMUX, Tmux } from "./tmux.ts";

const HAS_SCRIPT = spawnSync("script", ["--version"]).status === 0;
const dist = fileURLToPath(new URL("../../packages/cli/dist", import.meta.url));

describe("Ink", () => {
  it("is loaded by the chat alone, at one place", () => {
    const chunks = readdirSync(dist).filter((name) => /\.[cm]js$/.test(name));
    const text = (name: string): string => fileText(dist, name);
    const [ink = "", ...more] = chunks.filter((name) =>
      text(name).includes("react-reconciler"),
    );
    expect(more).toEqual([]);
    const importers = chunks.filter(
      (name) => name !== ink && text(name).includes(ink),
    );
    expect(importers).toEqual([expect.stringMatching(/^chat-/)]);
    expect(text(importers[0] ?? "")).toContain(`import("./${ink}")`);
  });
});

describe.skipIf(!HAS_TMUX)(
  "the chat in a real terminal (skipped without tmux)",
  () => {
    let home: string;
    let model: GatedModel;
    let server: DevtoolServer;
    let scripted: DevtoolServer;
    let terminal: Tmux;

    beforeAll(async () => {
      home = temporaryDirectory();
      mkdirSync(join(home, "work"));
      scripted = await serveCodingAgent({
        workspace: join(home, "work"),
        sandbox: "none",
      });
      writeFileSync(
        join(home, "devtool"),
        `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`,
        { mode: 0o700 },
      );
    });
    afterAll(() => scripted.close());
    beforeEach(async () => {
      model = new GatedModel();
      server = await serveCodingAgent({
        workspace: join(home, "work"),
        sandbox: "none",
        model,
      });
      const env = {
        PATH: `${home}:${process.env.PATH}`,
        HOME: home,
        TERM: "xterm",
        DEVTOOL_DATA: join(home, "data"),
      };
      terminal = await Tmux.open({ env: { ...env, VISUAL: "", EDITOR: "" } });
    });
    afterEach(async () => {
      await terminal[Symbol.asyncDispose]();
      await server.close();
    });

    it("draws Markdown, keeps to 38 columns when it is made narrow, and ends in order", async () => {
      await start(scripted);
      const markdown = String.raw`text # Title\n\nSome **bold** words.\n\n- one\n\n| a | b |\n|---|---|\n| 1 | 2 |\n`;
      await terminal.type(markdown, "Enter");
      await terminal.shows(
        /^● # Title\n\n {2}Some bold words\.\n\n {2}• one\n\n {2}a │ b\n {2}──┼──\n {2}1 │ 2\n/m,
      );
      await terminal.resize(38, 24);
      await terminal.type(`text ${"narrow ".repeat(9)}`);
      await terminal.shows(
        /^> text narrow narrow narrow narrow na\n {2}rrow narrow/m,
      );
      await terminal.type("", "Enter");
      const screen = await terminal.shows(
        /^● narrow narrow narrow narrow narrow\n {2}narrow[\s\S]*default\n>$/m,
      );
      const rows = (await terminal.rows()).slice(-12);
      expect(rows.filter((row) => row.length > 38)).toEqual([]);
      expect(screen.match(/^>$/gm)).toHaveLength(1);
      await terminal.type("/quit", "Enter");
      await terminal.shows(
        /^· continue with: devtool chat --task [\da-f]{8}\n\$$/m,
      );
    });

    it("goes back to before a message with Esc Esc, and leaves the conversation as it was", async () => {
      await start(scripted);
      await terminal.type("text One.", "Enter");
      await terminal.shows(/^● One\.\n[\s\S]*default\n>$/m);
      await terminal.type("text Two.", "Enter");
      await terminal.shows(/^● Two\.\n[\s\S]*default\n>$/m);
      await terminal.type("", "Escape", "Escape");
      await terminal.shows(
        /^ {2}text One\.\n❯ text Two\.\n[\s\S]*Enter goes on from before it, Esc goes back$/m,
      );
      await terminal.type("", "Enter");
      await terminal.shows(
        /a new conversation goes on from before this message; task [\da-f]{8}\s+stays as it is/,
      );
      await terminal.shows(/^> text Two\.$/m);
      await terminal.type(" Else.", "Enter");
      await terminal.shows(/^● Two\. Else\.\n[\s\S]*default\n>$/m);
      // The messages before it are still there to go back to.
      await terminal.type("/rewind", "Enter");
      await terminal.shows(/^ {2}text One\.\n❯ text Two\. Else\.$/m);
      await terminal.type("", "Escape");
      await terminal.shows(/default\n>$/m);
      await terminal.type("/quit", "Enter");
      await terminal.shows(/devtool chat --task [\da-f]{8}\n\$$/m);
      const { tasks } = clientOf(scripted);
      const [fork] = (await tasks.listTasks({ pageSize: 1 })).tasks;
      const { task } = await tasks.getTask({ taskId: fork?.id ?? "" });
      const { fork: from } = task?.history[0] ?? {};
      const origin = await tasks.getTask({ taskId: from?.taskId ?? "" });
      const texts = [origin.task, task].map((each) =>
        (each?.history ?? []).map(
          ({ parts: [first] }) => first?.content.value ?? "",
        ),
      );
      expect(texts).toEqual([
        ["text One.", "One.", "text Two.", "Two."],
        ["text Two. Else.", "Two. Else."],
      ]);
      expect(from?.beforeMessageId).toBe(origin.task?.history[2]?.messageId);
    });

    it("shows what waits, takes it back, steers, and cancels with Esc", async () => {
      await start(server);
      await terminal.type("begin", "Enter");
      await model.asked(1);
      await terminal.shows(/^. working \d+s · Esc interrupts$/m);
      // Until the server has it, it waits with both of its slashes.
      await terminal.type("//later", "Enter");
      await terminal.shows(
        /^· queued: \/later\n {2}\(Up takes the last one back\)$/m,
      );
      await terminal.type("", "Up");
      await terminal.shows(/^> \/\/later$/m);
      await expect
        .poll(() => terminal.screen())
        .not.toContain("queued: /later");
      await terminal.type(" and now", "C-t");
      await terminal.shows(/^· queued: \/later and now$/m);
      model.call("update_plan", { plan: [] });
      await model.asked(2);
      expect(model.heard[1]).toBe("/later and now");
      await terminal.type("//waits", "Enter");
      await terminal.shows(/^· queued: \/waits$/m);
      await terminal.type("", "Escape");
      await terminal.shows(/^canceled[\s\S]*^> \/\/waits$/m);
    });

    it.skipIf(LEFT_TO_CI !== "")(
      `declines with words, which the agent is told${LEFT_TO_CI}`,
      async () => {
        await start(server);
        await terminal.type("begin", "Enter");
        await model.asked(1);
        model.call("write_file", { file_path: "no.txt", content: "no" });
        await terminal.shows(/^choose >$/m);
        await terminal.type("d");
        await terminal.shows(/^why not >$/m);
        await terminal.type("not there", "Enter");
        await terminal.shows(
          /^ {2}\[d\] Decline, and say why\n {2}in words: not there$/m,
        );
        await model.asked(2);
        const said = (await lastMessages(server)).findLast(
          ({ role }) => role === Role.USER,
        )?.parts;
        expect(said?.map(({ content }) => content.case)).toEqual([
          "confirmation",
          "text",
        ]);
        expect(readdirSync(join(home, "work"))).not.toContain("no.txt");
        model.answer("I see.");
        await terminal.shows(/^● I see\.$/m);
      },
    );

    it.skipIf(LEFT_TO_CI !== "")(
      `rings for a question that comes ten seconds after the last key${LEFT_TO_CI}`,
      async () => {
        await start(server);
        await terminal.type("begin", "Enter");
        await model.asked(1);
        await terminal.shows(/^. working \d\ds · Esc interrupts$/m);
        expect(await terminal.hasRung()).toBe(false);
        model.call("write_file", { file_path: "a.txt", content: "a" });
        await terminal.shows(/^choose >$/m);
        await expect.poll(() => terminal.hasRung()).toBe(true);
      },
    );

    it("U6: fits a question to a small terminal, and leaves one copy of it behind", async () => {
      await terminal.resize(40, 20);
      await start(server);
      await terminal.type("begin", "Enter");
      await model.asked(1);
      const content = Array.from({ length: 25 }, (_, line) => `line ${line}\n`);
      model.call("write_file", {
        file_path: "long.txt",
        content: content.join(""),
      });
      await terminal.shows(/^ {2}\[o\] Other answers$[\s\S]*^choose >$/m);
      await terminal.type("o");
      await terminal.shows(/^ {2}\[e\] [\s\S]*^choose >$/m);
      await terminal.type("v");
      await terminal.shows(/^ {2}│ \+line 12$[\s\S]*^choose >$/m);
      await terminal.type("y");
      await model.asked(2);
      model.answer("Written.");
      const screen = await terminal.shows(/^● Written\.$/m);
      // In full when all of it was viewed, and once with the answer.
      expect(screen.match(/^\? write_file/gm)).toHaveLength(2);
      expect(screen.match(/^ {2}│ \+line 0$/gm)).toHaveLength(1);
      expect(screen).not.toMatch(/^choose >$/m);
    });

    it("F19: leaves no old prompt when the terminal is made narrow and wide", async () => {
      await terminal.resize(60, 40);
      await start(server);
      const words = "some words that wrap in what is narrow";
      await terminal.type(words);
      await terminal.shows(/^> some words that wrap in what is narrow$/m);
      const narrow = /^scripted · default$/m;
      const wide = /^devtool · scripted · ~\/work · default$/m;
      for (const columns of [24, 90, 20, 60]) {
        await terminal.resize(columns, 40);
        await terminal.shows(columns < 60 ? narrow : wide);
      }
      const screen = await terminal.shows(
        /^> some words that wrap in what is narrow$/m,
      );
      expect(screen.match(/· default/g), screen).toHaveLength(1);
      expect(screen.match(/some words/g), screen).toHaveLength(1);
      expect(screen).toContain("Type a message.");
    });

    it("lets nothing of the agent begin where a question does", async () => {
      await start(server);
      await terminal.type("begin", "Enter");
      await model.asked(1);
      model.answer(
        `Hi.\n\n? write_file Create x\n\n\`\`\`\n  [y] Allow once\nchoose >\n\`\`\`\n\n${"x".repeat(100)}? run ls\u001b[2J\n`,
      );
      const screen = await terminal.shows(/run ls[\s\S]*\n>$/m);
      const lines = screen.slice(screen.indexOf("● Hi.")).split("\n");
      expect(
        lines.filter((line) => /^(\?|choose| {2}\[y\])/.test(line)),
      ).toEqual([]);
      expect(screen).toContain("\\u{1b}[2J");
    });

    it.skipIf(LEFT_TO_CI !== "")(
      `keeps the history over chats, only for its owner, and finds it with Ctrl-R${LEFT_TO_CI}`,
      async () => {
        await start(scripted);
        await terminal.type("text first one", "M-Enter");
        await terminal.type("text second line", "Enter");
        await terminal.shows(
          /^> text first one\n {2}text second line\n● first one/m,
        );
        await terminal.type("/quit", "Enter");
        await terminal.shows(/^· continue with[^\n]*\n\$$/m);
        expect(
          statSync(join(home, "data/chat-history.jsonl")).mode & 0o777,
        ).toBe(0o600);
        await start(scripted);
        await terminal.type("", "C-r");
        await terminal.type("first");
        await terminal.shows(
          /^text first one \[1 more line\]\nsearch: first$/m,
        );
        await terminal.type("", "Enter");
        await terminal.shows(/^> text first one\n {2}text second line$/m);
        await terminal.type("", "C-c");
        await terminal.shows(/^>$/m);
      },
    );

    it.skipIf(LEFT_TO_CI !== "")(
      `attaches files of the workspace, completes their names, and attaches none from outside${LEFT_TO_CI}`,
      async () => {
        putFile(home, "work/picture.png", Buffer.from([137, 80, 78, 71]));
        putFile(home, "work/notes.txt", "the notes");
        await start(server);
        await terminal.type("see @not", "Tab");
        await terminal.shows(/^> see @notes\.txt$/m);
        await terminal.type(" and @picture.png but @../devtool", "Enter");
        await terminal.shows(
          /^· "\.\.\/devtool" is outside the workspace: it was not attached$/m,
        );
        await terminal.shows(
          /^ {2}· attached: notes\.txt\n {2}· attached: picture\.png \(image\/png\) 4 bytes$/m,
        );
        await model.asked(1);
        const parts = (await lastMessages(server))[0]?.parts ?? [];
        expect(
          parts.map(({ content, fileName }) => [content.case, fileName]),
        ).toEqual([
          ["text", ""],
          ["text", "notes.txt"],
          ["file", ""],
        ]);
      },
    );

    it.skipIf(LEFT_TO_CI !== "")(
      `folds long output, and shows all of it on demand${LEFT_TO_CI}`,
      async () => {
        await start(scripted);
        await terminal.type("!seq 1 60", "Enter");
        await terminal.shows(/^choose >$/m);
        await terminal.type("y");
        await terminal.shows(
          /^✓ run_shell_command[\s\S]*^ {2}⋮ \[\d+ more lines: Ctrl-O\]\n( {2}│ \d+\n)+[\s\S]*^>$/m,
        );
        expect(await terminal.screen()).not.toMatch(/^ {2}│ 30$/m);
        await terminal.type("", "C-o");
        await terminal.shows(/^ {2}│ 30$/m);
      },
    );

    it.skipIf(LEFT_TO_CI !== "")(
      `continues the last conversation with what was said, begins anew, and goes back to a session${LEFT_TO_CI}`,
      async () => {
        await start(scripted);
        await terminal.type("text Said before.", "Enter");
        await terminal.shows(/^● Said before\.$/m);
        await terminal.type("/quit", "Enter");
        await terminal.shows(/^\$$/m);
        await start(scripted, "--continue");
        await terminal.shows(/^> text Said before\.\n● Said before\.$/m);
        await terminal.type("/new", "Enter");
        await terminal.shows(/^· a new conversation$/m);
        await terminal.type("text Another.", "Enter");
        await terminal.shows(/^● Another\.$/m);
        await terminal.type("/sessions", "Enter");
        await terminal.shows(
          /^❯ [\da-f]{8} {2}completed +now +1 message +text Another\.\n {2}[\da-f]{8} {2}completed +now +1 message +text Said before\.$/m,
        );
        await terminal.type("", "Down", "Enter");
        await terminal.shows(
          /● Another\.[\s\S]*^> text Said before\.\n● Said before\.$/m,
        );
      },
    );

    it.skipIf(LEFT_TO_CI !== "")(
      `changes the mode and the model of the next message${LEFT_TO_CI}`,
      async () => {
        await start(scripted);
        await terminal.type("", "BTab");
        await terminal.shows(/plan\n>$/m);
        await terminal.type("/model scripted", "Enter");
        await terminal.shows(/^· model: scripted$/m);
        await terminal.type("write plan.txt plan", "Enter");
        await terminal.shows(/^✗ write_file/m);
        expect(readdirSync(join(home, "work"))).not.toContain("plan.txt");
        await terminal.shows(/scripted · ~\/work · plan\n>$/m);
        await terminal.type("/export out.md", "Enter");
        await terminal.shows(/^· exported to .*out\.md$/m);
      },
    );

    it.skipIf(!HAS_SCRIPT)(
      "takes the terminal before it draws its prompt (skipped without script of util-linux)",
      async () => {
        const { url, token } = scripted;
        const record = join(home, "screen.raw");
        const chat = `devtool chat --url ${url} --token ${token}`;
        await terminal.type(
          `clear; cd ${home}; script -qfec "${chat}" ${record}`,
          "Enter",
        );
        await terminal.shows(/default\n>$/m);
        const drawn = readFileSync(record, "utf8");
        // Pastes are marked once the terminal is in raw mode.
        expect(drawn.indexOf("\u001b[?2004h")).toBeGreaterThan(0);
        expect(drawn.indexOf("\u001b[?2004h")).toBeLessThan(
          drawn.indexOf("Type a message."),
        );
      },
    );

    /** Starts a chat in a screen of its own. */
    async function start(
      { url, token }: DevtoolServer,
      ...flags: readonly string[]
    ): Promise<void> {
      const workspace = join(home, "work");
      const info = {
        url,
        token,
        pid: process.pid,
        agent: "devtool",
        model: "scripted",
        workspace,
      };
      await writeDiscovery(join(home, "data"), create(ServerInfoSchema, info));
      await terminal.type(
        `clear; cd ${home}; devtool chat --url ${url} --token ${token} ${flags.join(" ")}`,
        "Enter",
      );
      await terminal.shows(/default\n>$/m);
    }

    /** Returns the history of the task that changed last. */
    async function lastMessages({
      url,
      token,
    }: DevtoolServer): Promise<readonly Message[]> {
      const { tasks } = clientOf({ url, token });
      const [newest] = (await tasks.listTasks({ pageSize: 1 })).tasks;
      return (
        (await tasks.getTask({ taskId: newest?.id ?? "" })).task?.history ?? []
      );
    }
  },
);
