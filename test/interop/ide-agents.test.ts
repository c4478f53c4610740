import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it, vi } from "vitest";
import { pathWith, REAL_AGENTS } from "../acp/real-agents.ts";
import { until } from "../ide/agents.ts";
import { HAS_TMUX, Tmux } from "../terminal/tmux.ts";
import { connected, enableIde, say } from "./ide-terminal.ts";
import { EDITORS, USES } from "./used-editor.ts";

/** The agents that are started in a terminal, beside or in the editor. */
const AGENTS = REAL_AGENTS.filter(({ name }) =>
  ["gemini", "qwen"].includes(name),
);

/** Editors and agents start, and a machine may be busy. */
const TIMEOUT_MS = 600_000;

for (const agent of AGENTS) {
  describe.each(EDITORS)(`the real ${agent.name} with $name`, (kind) => {
    const absent =
      agent.missing ?? kind.missing ?? (HAS_TMUX ? undefined : "needs tmux");
    it.skipIf(absent !== undefined)(
      `sees what is open, and writes what the user answers${absent === undefined ? "" : `: SKIPPED, ${absent}`}`,
      async () => {
        const [home, workspace] = [temporaryDirectory(), temporaryDirectory()];
        putFile(workspace, "open.txt", "only the editor has it\n");
        await using editor = await kind.start(home, workspace);
        await editor.open("open.txt");
        await using model = await agent.startModel();
        const env = {
          ...agent.configure(home, model.url),
          HOME: home,
          TMPDIR: editor.temporary,
          PATH: pathWith(agent, join(home, "bin")),
          // In a container, both look for the editor on its host otherwise.
          SSH_CONNECTION: "1",
          ...(await editor.environment()),
        };
        enableIde(home, agent.name);
        /** Says a line until the model hears: Gemini CLI drops it as it cancels. */
        const tell = async (terminal: Tmux, line: string): Promise<void> => {
          const { length } = model.requests();
          const isHeard = () =>
            expect(model.requests().length).toBeGreaterThan(length);
          for (let tries = 1; tries < 4; tries++) {
            await say(terminal, line);
            const heard = vi.waitFor(isHeard, { timeout: 20_000 });
            if (
              await heard.then(
                () => true,
                () => false,
              )
            )
              return;
          }
          throw new Error(await terminal.screen());
        };
        /** Qwen Code puts what is new in the editor before what is said next. */
        const greet = (terminal: Tmux): Promise<void> =>
          tell(terminal, "hello there");
        const start = async (): Promise<Tmux> => {
          const terminal = await Tmux.open({
            env,
            columns: 120,
            rows: 50,
            directory: workspace,
          });
          await terminal.type(agent.name, "Enter");
          await terminal.shows(/Type your message/);
          await connected(terminal, kind.name);
          await greet(terminal);
          return terminal;
        };
        const propose = (
          terminal: Tmux,
          file: string,
          content = `proposed for ${file}\nsecond\n`,
        ): Promise<void> => {
          const input = { file_path: join(workspace, file), content };
          return tell(terminal, `call write_file ${JSON.stringify(input)}`);
        };
        /** Proposes, and waits until the editor shows it. */
        const show = async (
          ...[terminal, file, content]: Parameters<typeof propose>
        ): Promise<void> => {
          await propose(terminal, file, content);
          const [line = ""] = (content ?? `proposed for ${file}`).split("\n");
          await editor.shows(file, line).catch(async (cause) => {
            throw new Error(await terminal.screen(), { cause });
          });
        };
        const has = (file: string, text: string): Promise<unknown> =>
          until(() => {
            const path = join(workspace, file);
            return existsSync(path) &&
              readFileSync(path).equals(Buffer.from(text))
              ? true
              : undefined;
          });

        await using one = await start();
        const sent = JSON.stringify(model.requests().map(({ body }) => body));
        expect(sent).toContain(join(workspace, "open.txt"));
        expect(sent).toContain("only the editor has it");

        for (const { file, act, written } of USES) {
          await show(one, file);
          await act(editor, async () => {
            await one.shows(/Apply this change\?/);
            await one.type("", "Enter");
          });
          await editor.showsNone();
          if (written !== undefined) {
            await has(file, written);
          } else {
            expect(existsSync(join(workspace, file))).toBe(false);
          }
        }

        // The second one waits for the first, and is shown after it.
        await show(one, "shared.txt", "of the first\n");
        await using two = await start();
        await propose(two, "shared.txt", "of the second\n");
        await two.shows(/Apply this change\?/);
        await editor.reject();
        await editor.shows("shared.txt", "of the second");
        await editor.accept();
        await has("shared.txt", "of the second\n");

        // An editor that ends rejects what it shows.
        await show(one, "lost.txt");
        await editor.restart();
        await connected(one, kind.name, "/ide disable", "/ide enable");
        await greet(one);
        await show(one, "again.txt");
        await editor.accept();
        await has("again.txt", "proposed for again.txt\nsecond\n");
        for (const file of ["rejected.txt", "closed.txt", "lost.txt"]) {
          expect(existsSync(join(workspace, file))).toBe(false);
        }
        // They write into their home while they end.
        for (const terminal of [one, two]) {
          await say(terminal, "/quit");
          await terminal.shows(/\n\$\s*$/);
        }
      },
      TIMEOUT_MS,
    );
  });
}
