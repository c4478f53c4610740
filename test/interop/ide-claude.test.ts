import {
  existsSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { listOrEmpty } from "@devtool/internal/json";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { ClaudeAgent, onlyFile, until } from "../ide/agents.ts";
import { EDITORS, USES } from "./used-editor.ts";

/** An editor starts, and a machine may be busy. */
const TIMEOUT_MS = 600_000;

/** Lines that end in different ways, and a last one that does not. */
const MIXED = "by the agent\r\ntwo ü🎈\nthree";

describe.each(EDITORS)(
  "an agent that speaks as Claude Code does, with $name",
  ({ missing, start }) => {
    it.skipIf(missing !== undefined)(
      `sees what is open, and writes what the user answers${missing === undefined ? "" : `: SKIPPED, ${missing}`}`,
      async () => {
        const [home, workspace] = [temporaryDirectory(), temporaryDirectory()];
        putFile(workspace, "open.txt", "only the editor has it\n");
        await using editor = await start(home, workspace);
        await editor.open("open.txt");
        let lastPort = 0;
        const connect = async (before = 0): Promise<ClaudeAgent> => {
          const { port, authToken } = await announced(home, workspace, before);
          lastPort = port;
          return await ClaudeAgent.connect(port, authToken);
        };
        const read = (file: string): string | undefined => {
          const path = join(workspace, file);
          return existsSync(path) ? readFileSync(path, "utf8") : undefined;
        };
        /** Proposes a content, and waits until the editor shows it. */
        const show = async (
          agent: ClaudeAgent,
          file: string,
          content = `proposed for ${file}\nsecond\n`,
        ) => {
          const proposal = new Proposal(agent, join(workspace, file), content);
          const [line = ""] = content.split(/\r?\n/);
          await editor.shows(file, line);
          return proposal;
        };

        using one = await connect();
        await until(
          () =>
            one.last("selection_changed")?.params.text ===
              "only the editor has it\n" || undefined,
        );
        for (const [tool, seen] of [
          ["getCurrentSelection", "only the editor has it"],
          ["getOpenEditors", join(workspace, "open.txt")],
          ["getWorkspaceFolders", workspace],
          ["checkDocumentDirty", '"isDirty":false'],
          ["getDiagnostics", "[]"],
        ] as const) {
          const filePath = join(workspace, "open.txt");
          const { texts } = await one.call(tool, { filePath });
          expect(texts.join()).toContain(seen);
        }

        for (const { file, act, written } of USES) {
          const proposal = await show(one, file);
          await act(editor, () => proposal.answerHere());
          await proposal.isWritten;
          await editor.showsNone();
          expect(read(file)).toBe(written);
        }
        const exact = await show(one, "mixed.txt", MIXED);
        await editor.accept();
        await exact.isWritten;
        expect(read("mixed.txt")).toBe(MIXED);

        // The second one waits for the first, and is shown after it.
        using two = await connect();
        const first = await show(one, "shared.txt", "of the first\n");
        const path = join(workspace, "shared.txt");
        const second = new Proposal(two, path, "of the second\n");
        await two.call("getWorkspaceFolders", {});
        await editor.reject();
        await first.isWritten;
        await editor.shows("shared.txt", "of the second");
        await editor.accept();
        await second.isWritten;
        expect(read("shared.txt")).toBe("of the second\n");

        // An editor that ends answers no more than that.
        const lost = await show(one, "lost.txt");
        await editor.restart();
        await lost.isWritten;
        await one.closed;
        using again = await connect(lastPort);
        const last = await show(again, "again.txt");
        await editor.accept();
        await last.isWritten;
        expect(read("again.txt")).toBe("proposed for again.txt\nsecond\n");
        expect(readdirSync(workspace).sort()).toEqual([
          "accepted.txt",
          "again.txt",
          "answered.txt",
          "edited.txt",
          "mixed.txt",
          "open.txt",
          "shared.txt",
        ]);
      },
      TIMEOUT_MS,
    );
  },
);

/** A change that an agent asks about in the editor and in its own terminal. */
class Proposal {
  /** Resolves once it is answered, and written where it was accepted. */
  readonly isWritten: Promise<void>;
  readonly #here = Promise.withResolvers<"here">();

  constructor(agent: ClaudeAgent, path: string, content: string) {
    const tab = `✻ ${path.split("/").at(-1)}: proposed change ⧉`;
    const inEditor = agent.call("openDiff", {
      old_file_path: path,
      new_file_path: path,
      new_file_contents: content,
      tab_name: tab,
    });
    this.isWritten = (async () => {
      const answer = await Promise.race([
        inEditor,
        this.#here.promise,
        agent.closed,
      ]);
      if (answer === "here") {
        await agent.call("close_tab", { tab_name: tab });
        expect((await inEditor).texts).toEqual(["DIFF_REJECTED", tab]);
        writeFileSync(path, content);
      } else if (answer?.texts[0] === "FILE_SAVED") {
        writeFileSync(path, String(answer.texts[1]));
      } else {
        expect(answer?.texts ?? []).toEqual(
          answer ? ["DIFF_REJECTED", tab] : [],
        );
      }
    })();
  }

  /** The user accepts it in the terminal of the agent. */
  async answerHere(): Promise<void> {
    this.#here.resolve("here");
  }
}

/**
 * Reads the only file by which Claude Code finds an editor, once it is there and
 * names another port than before.
 */
async function announced(home: string, workspace: string, before: number) {
  const directory = join(home, ".claude/ide");
  const name = await until(() => {
    const names = existsSync(directory) ? readdirSync(directory) : [];
    const [first = ""] = names;
    const isNew = names.length === 1 && /^\d+\.lock$/.test(first);
    return isNew && Number.parseInt(first, 10) !== before ? first : undefined;
  });
  const { authToken, transport, workspaceFolders } = onlyFile(directory);
  expect(transport).toBe("ws");
  expect(listOrEmpty(workspaceFolders)).toContain(realpathSync(workspace));
  return { port: Number.parseInt(name, 10), authToken: String(authToken) };
}
