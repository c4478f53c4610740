import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Companion, startCompanion } from "@devtool/ide";
import { type ScriptedDiff, ScriptedEditor } from "@devtool/ide/testing";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { pathWith, REAL_AGENTS } from "../acp/real-agents.ts";
import { until } from "../ide/agents.ts";
import { HAS_TMUX, Tmux } from "../terminal/tmux.ts";
import { connected, enableIde, say } from "./ide-terminal.ts";

const AGENTS = REAL_AGENTS.filter(({ name }) =>
  ["gemini", "qwen"].includes(name),
);

for (const agent of AGENTS) {
  const { name, missing } = agent;
  if (missing !== undefined) console.info(`skipped: ${name} ${missing}`);
  describe.skipIf(missing !== undefined || !HAS_TMUX)(
    `a companion, with the real ${name}`,
    () => {
      it("shows the model what is open, and carries the user's answers to diffs, also when it is started again", async () => {
        const [home, workspace] = [temporaryDirectory(), temporaryDirectory()];
        const path = join(workspace, "open.txt");
        putFile(workspace, "open.txt", "before\n");
        putFile(home, "tmp/.keep", "");
        const editor = new ScriptedEditor(workspace);
        editor.show({ openFiles: [openFile(path)] });
        await using model = await agent.startModel();
        const env = {
          ...agent.configure(home, model.url),
          HOME: home,
          TMPDIR: join(home, "tmp"),
          PATH: pathWith(agent, join(home, "bin")),
          // In a container, both look for the editor on its host otherwise.
          SSH_CONNECTION: "1",
        };
        enableIde(home, name);
        const start = (): Promise<Companion> =>
          startCompanion(editor, { env: { HOME: home, TMPDIR: env.TMPDIR } });
        let companion = await start();
        await using tmux = await Tmux.open({
          env: { ...env, ...companion.environment },
          columns: 120,
          rows: 50,
          directory: workspace,
        });
        await tmux.type(name, "Enter");
        await tmux.shows(/Type your message/);
        await connected(tmux, "Scripted");

        await say(tmux, "hello there");
        const sent = await until(() => {
          const text = JSON.stringify(model.requests().map(({ body }) => body));
          return text.includes("hello there") ? text : undefined;
        });
        expect(sent).toContain(path);
        expect(sent).toContain("a selection that only the editor has");

        /** Has the model write a file, and waits for the diff. */
        const propose = async (file: string): Promise<ScriptedDiff> => {
          const count = editor.diffs.length;
          const content = `proposed for ${file}\n`;
          const input = { file_path: join(workspace, file), content };
          await say(tmux, `call write_file ${JSON.stringify(input)}`);
          const view = await until(() => editor.diffs[count]);
          expect(view).toMatchObject({ path: input.file_path, content });
          return view;
        };
        const written = (file: string, text: string): Promise<unknown> =>
          until(() =>
            existsSync(join(workspace, file)) &&
            readFileSync(join(workspace, file)).equals(Buffer.from(text))
              ? true
              : undefined,
          );

        (await propose("accepted.txt")).accept();
        await written("accepted.txt", "proposed for accepted.txt\n");
        const edited = await propose("edited.txt");
        edited.draft = "by the user: ü\n";
        edited.accept();
        await written("edited.txt", "by the user: ü\n");
        (await propose("rejected.txt")).reject();
        (await propose("closed.txt")).closeView();

        await companion.close();
        companion = await start();
        await connected(tmux, "Scripted", "/ide disable", "/ide enable");
        (await propose("again.txt")).accept();
        await written("again.txt", "proposed for again.txt\n");
        for (const file of ["rejected.txt", "closed.txt"]) {
          expect(existsSync(join(workspace, file))).toBe(false);
        }
        await companion.close();
        // It writes into its home while it ends.
        await say(tmux, "/quit");
        await tmux.shows(/\n\$\s*$/);
      });
    },
  );
}

function openFile(path: string) {
  return {
    path,
    focusedAtMs: Date.now(),
    isActive: true,
    selectedText: "a selection that only the editor has",
    selection: {
      start: { line: 0, character: 0 },
      end: { line: 0, character: 3 },
    },
  };
}
