import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
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
import { LEFT_TO_CI, variantsOf } from "../depth.ts";
import { GatedModel } from "../durability/message-queue/gated-model.ts";
import { MAIN } from "../our-command.ts";
import { HAS_TMUX, Tmux } from "./tmux.ts";

const HAS_VI = spawnSync("sh", ["-c", "command -v vi"]).status === 0;

describe.skipIf(!HAS_TMUX)(
  "the command in a real terminal (skipped without tmux)",
  () => {
    let home: string;
    let server: DevtoolServer;
    let terminal: Tmux;

    beforeAll(async () => {
      home = temporaryDirectory();
      server = await serveCodingAgent({ workspace: home, sandbox: "none" });
      const devtool = `#!/bin/sh\necho $$ >"$HOME/pid"\nexec "${process.execPath}" "${MAIN}" "$@"\n`;
      writeFileSync(join(home, "devtool"), devtool, { mode: 0o700 });
    });
    afterAll(() => server.close());
    beforeEach(async () => {
      const { PATH = "" } = process.env;
      const address = {
        DEVTOOL_TOKEN: server.token,
        DEVTOOL_DATA: home,
        URL: server.url,
      };
      const env = {
        PATH: `${home}:${PATH}`,
        HOME: home,
        TERM: "xterm",
        VISUAL: "",
        EDITOR: "",
        ...address,
      };
      terminal = await Tmux.open({ env });
    });
    afterEach(() => terminal[Symbol.asyncDispose]());

    it("does not approve with a y that was typed while the agent worked", async () => {
      const model = new GatedModel();
      await using _gated = await serveWith(model);
      await startChat();
      await terminal.type("work", "Enter");
      await model.asked(1);
      await terminal.type("y", "Enter");
      await terminal.shows(/^· queued: y$/m);
      await terminal.type("text half");
      model.call("write_file", { file_path: "early.txt", content: "early" });
      await terminal.shows(
        /^· kept for your next message: text half\n.*default\nchoose >$/m,
      );
      expect(existsSync(join(home, "early.txt"))).toBe(false);
      await terminal.type("n", "Enter");
      await terminal.shows(/^- write_file/m);
      await model.asked(2);
      model.answer("Declined.");
      await terminal.shows(/^> y$/m);
      await model.asked(3);
      model.answer("Yes?");
      await terminal.shows(/^● Yes\?\n[\s\S]*^> text half$/m);
      await terminal.type(" and half", "Enter");
      await model.asked(4);
      expect(model.heard.slice(2)).toEqual(["y", "text half and half"]);
      expect(existsSync(join(home, "early.txt"))).toBe(false);
    });

    it.skipIf(LEFT_TO_CI !== "")(
      `does not approve a job with a y that was typed while it ran, and shows the y${LEFT_TO_CI}`,
      async () => {
        const model = new GatedModel();
        await using _gated = await serveWith(model);
        await terminal.type(
          "devtool run --url $URL work; echo code $?",
          "Enter",
        );
        await model.asked(1);
        await terminal.type("y", "Enter");
        model.call("write_file", { file_path: "job.txt", content: "job" });
        await terminal.shows(
          /^· not taken as an answer, it came before the question: "y\\n"\nchoose >$/m,
        );
        expect(existsSync(join(home, "job.txt"))).toBe(false);
        await terminal.type("y", "Enter");
        await model.asked(2);
        model.answer("Written.");
        await terminal.shows(/^code 0$/m);
        expect(fileText(home, "job.txt")).toBe("job");
      },
    );

    it("sends 30 pasted lines as one message", async () => {
      await startChat();
      await terminal.paste(
        Array.from(
          { length: 30 },
          (_, line) => `text line ${line + 1}\\n\n`,
        ).join(""),
      );
      await terminal.shows(/^> \[paste 1: 30 lines\]$/m);
      await terminal.type("", "Enter");
      const screen = await terminal.shows(/^ {2}line 30\n+.*default\n>$/m);
      expect(screen.match(/^(●| ) line \d+$/gm)).toHaveLength(30);
      expect(screen.match(/^> text line/gm)).toHaveLength(1);
    });

    it("does not take a paste for an approval", async () => {
      await startChat();
      await terminal.type("write pasted.txt pasted", "Enter");
      await terminal.shows(/^choose >$/m);
      await terminal.paste("y\ntext and more\n");
      await terminal.shows(
        /^· kept for your next message: \[paste 1: 2 lines\]\n.*\nchoose >$/m,
      );
      await terminal.type("n", "Enter");
      await terminal.shows(/^- write_file[\s\S]*^> \[paste 1: 2 lines\]$/m);
      expect(existsSync(join(home, "pasted.txt"))).toBe(false);
    });

    it("shows a question that line breaks of its command would push out of sight", async () => {
      await startChat();
      const forged = `touch forged; : <<'?'\n${"\n".repeat(60)}? run_shell_command Run ls\n    $ ls\n  [y] Allow once\n?`;
      await terminal.type(
        `call run_shell_command ${JSON.stringify({ command: forged })}`,
        "Enter",
      );
      const screen = await terminal.shows(/^choose >$/m);
      const rows = screen.trimEnd().split("\n").slice(-40);
      expect(rows.filter((row) => /^\? run_shell_command/.test(row))).toEqual([
        "? run_shell_command Run touch forged; : <<'?' [4 more lines] (without a sandbox)",
      ]);
      const mine = rows.slice(rows.findIndex((row) => row.startsWith("? ")));
      expect(mine[1]).toMatch(/^ {4}in \/.*devtool-/);
      expect(mine[2]).toBe("  │ $ touch forged; : <<'?'");
      expect(rows).toContain("  │   ? run_shell_command Run ls");
      expect(screen).toMatch(/^ {2}⋮ \[\d+ more lines\]$/m);
      await terminal.type("v");
      await terminal.shows(/(^ {2}│ *\n){60}[\s\S]*^choose >$/m);
      await terminal.type("n", "Enter");
      await terminal.shows(/^- run_shell_command[\s\S]*^>$/m);
      expect(existsSync(join(home, "forged"))).toBe(false);
    });

    it.skipIf(LEFT_TO_CI !== "")(
      `breaks long lines itself, so that none begins where a question does${LEFT_TO_CI}`,
      async () => {
        await startChat();
        const command = `touch long; : ${"x".repeat(80)}? run_shell_command Run ls`;
        await terminal.type(`run ${command}`, "Enter");
        const rows = (await terminal.shows(/^choose >$/m)).split("\n");
        expect(rows.findLast((row) => row.startsWith("  ┊ "))).toBe(
          "  ┊ ? run_shell_command Run ls",
        );
        await terminal.type("n", "Enter");
        await terminal.shows(/^- run_shell_command/m);
      },
    );

    it("shows characters that would change the terminal as JSON escapes", async () => {
      await terminal.type(
        "clear; devtool run --json --url $URL \"text $(printf 'a\\302\\2332Jb\\342\\200\\256c')\"",
        "Enter",
      );
      await terminal.shows(/"a\\u009b2Jb\\u202ec"/);
    });

    it.skipIf(!HAS_VI)(
      "leaves the terminal to vi alone while a file is edited (skipped without vi)",
      async () => {
        await startChat("VISUAL=vi");
        await terminal.type("write edited.txt first", "Enter");
        await terminal.shows(/^choose >$/m);
        await terminal.type("e", "Enter");
        await terminal.shows(/^~$/m);
        await terminal.type("oabcdefghijklmnop and hello?");
        await terminal.shows(/^abcdefghijklmnop and hello\?$/m);
        await terminal.type("", "Escape");
        await terminal.type(":wq", "Enter");
        await terminal.shows(/^✓ write_file[\s\S]*^>$/m);
        expect(fileText(home, "edited.txt")).toBe(
          "first\nabcdefghijklmnop and hello?\n",
        );
        await terminal.type("text Still here.", "Enter");
        await terminal.shows(/^● Still here\.\n[\s\S]*^>$/m);
      },
    );

    it.skipIf(LEFT_TO_CI !== "")(
      `asks again when the editor failed, also one that leaves the terminal in disorder${LEFT_TO_CI}`,
      async () => {
        const editor = join(home, "bad-editor");
        writeFileSync(editor, "#!/bin/sh\nstty raw -echo\nexit 4\n");
        chmodSync(editor, 0o700);
        await startChat(`EDITOR=${editor}`);
        await terminal.type("write twice.txt twice", "Enter");
        await terminal.shows(/^choose >$/m);
        await terminal.type("e", "Enter");
        await terminal.shows(
          /^· the editor ended with 4: nothing was changed\n[\s\S]*^choose >$/m,
        );
        await terminal.type("y", "Enter");
        await terminal.shows(/^✓ write_file[\s\S]*^>$/m);
        await terminal.type("/exit", "Enter");
        await terminal.shows(
          /^> \/exit\n+· continue with: devtool chat --task [\da-f]{8}\n\$$/m,
        );
        await expectOrder();
      },
    );

    it.skipIf(LEFT_TO_CI !== "")(
      `asks again when no editor is set${LEFT_TO_CI}`,
      async () => {
        await startChat();
        await terminal.type("write unset.txt unset", "Enter");
        await terminal.shows(/^choose >$/m);
        await terminal.type("e", "Enter");
        await terminal.shows(
          /^· no editor is set: start this command with EDITOR=vi, for example\n[\s\S]*^choose >$/m,
        );
        await terminal.type("y", "Enter");
        await terminal.shows(/^✓ write_file/m);
      },
    );

    it.each(variantsOf("signals", ["TERM", "HUP"], 1))(
      "leaves the terminal in order when it is ended by SIG%s",
      async (signal) => {
        await startChat();
        process.kill(Number(fileText(home, "pid")), `SIG${signal}`);
        await terminal.shows(/^\$$/m);
        await expectOrder();
      },
    );

    it("gives the terminal back at Ctrl-Z, and shows its line again at fg", async () => {
      await startChat();
      await terminal.type("text Sto", "C-z");
      await terminal.shows(/Stopped[\s\S]*^\$$/m);
      await expectOrder();
      await terminal.type("fg", "Enter");
      await terminal.shows(/^> text Sto$/m);
      await terminal.type("pped.", "Enter");
      await terminal.shows(/^● Stopped\.$/m);
    });

    it.skipIf(LEFT_TO_CI !== "")(
      `ends quietly when its output is read no further${LEFT_TO_CI}`,
      async () => {
        await terminal.type(
          "for n in 1 2 3; do devtool run --url $URL 'text Hello.' >/dev/null 2>&1; done; clear",
          "Enter",
        );
        await terminal.type(
          "for n in 1 2 3; do devtool tasks --url $URL | head -1 | wc -l; done; echo done",
          "Enter",
        );
        await terminal.shows(/1\n *1\n *1\ndone\n\$$/m);
      },
    );

    it("ends when the server refuses the token, over gRPC too, in the server's words", async () => {
      await terminal.type(
        "clear; devtool tasks --url $URL --protocol grpc --token wrong; echo code $?",
        "Enter",
      );
      await terminal.shows(
        /^devtool: the bearer token is missing or wrong[\s\S]*^code 1$/m,
      );
    });

    it("asks at the terminal while its output goes to a file", async () => {
      await terminal.type(
        "devtool run --url $URL 'write log.txt log' | tee $HOME/run.log; echo end",
        "Enter",
      );
      await terminal.shows(/^choose >$/m);
      await terminal.type("y", "Enter");
      await terminal.shows(/^✓ write_file[\s\S]*^end$/m);
      expect(fileText(home, "run.log")).toMatch(
        /^▸ write_file Create log.txt\n✓ write_file/,
      );
    });

    /**
     * Serves an agent with this model, to the commands that are typed from now
     * on.
     */
    async function serveWith(model: GatedModel): Promise<DevtoolServer> {
      const gated = await serveCodingAgent({
        workspace: home,
        sandbox: "none",
        model,
      });
      await terminal.type(
        `clear; export URL=${gated.url} DEVTOOL_TOKEN=${gated.token}`,
        "Enter",
      );
      return gated;
    }

    async function startChat(environment = ""): Promise<void> {
      await terminal.type(
        `clear; ${environment} devtool chat --url $URL`,
        "Enter",
      );
      await terminal.shows(/^>$/m);
    }

    /**
     * The terminal takes lines, shows what is typed and does not mark pastes.
     */
    async function expectOrder(): Promise<void> {
      await terminal.type(
        "stty -a | tr ' ;' '\\n\\n' | grep -xE -e '-?(icanon|echo|opost)' | sort | xargs",
        "Enter",
      );
      await terminal.shows(/^echo icanon opost$/m);
      await terminal.type("clear", "Enter");
      // What is pasted before the prompt is shown again stands before it, and
      // the output behind it.
      await terminal.shows(/^\$\n*$/);
      await terminal.paste("echo pasted\n");
      await terminal.shows(/^pasted$/m);
      expect(await terminal.screen()).not.toContain("200~");
    }
  },
);
