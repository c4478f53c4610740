import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { onlyFile, until } from "../ide/agents.ts";
import { HAS_NEOVIM, Neovim } from "../ide/neovim.ts";
import { VS_CODE_MISSING, VsCode } from "./vs-code.ts";

/** An editor with our companion, whose user is a test. */
export interface UsedEditor extends AsyncDisposable {
  /** Where its companion writes the files for agents. */
  readonly temporary: string;
  /** The variables of its terminals. */
  environment(): Promise<Readonly<Record<string, string>>>;
  /** Opens a file of the workspace, and selects all of it. */
  open(file: string): Promise<void>;
  /** Waits for the diff of a file whose first line is proposed so. */
  shows(file: string, line: string): Promise<void>;
  /** Waits until no diff is shown. */
  showsNone(): Promise<void>;
  /** Types over the first line of the diff. */
  change(text: string): Promise<void>;
  accept(): Promise<void>;
  reject(): Promise<void>;
  /** Closes the diff without an answer. */
  closeView(): Promise<void>;
  /** Starts it again, without a word to agents where that is possible. */
  restart(): Promise<void>;
}

/** An editor that can be used. */
export interface EditorKind {
  /** What agents call it. */
  readonly name: string;
  /** Why it cannot run on this machine. Undefined if it can. */
  readonly missing: string | undefined;
  start(home: string, workspace: string): Promise<UsedEditor>;
}

/** The editors for which there is a plugin or an extension. */
export const EDITORS: readonly EditorKind[] = [
  {
    name: "Neovim",
    missing: HAS_NEOVIM ? undefined : "nvim is not in PATH",
    start: startNeovim,
  },
  { name: "code-server", missing: VS_CODE_MISSING, start: startVsCode },
];

/** What a user does with a proposal, and what the file then has. */
interface Use {
  readonly file: string;
  /** `answerHere` accepts it where the agent asks, too. */
  act(editor: UsedEditor, answerHere: () => Promise<void>): Promise<void>;
  /** Undefined: it is not written. */
  readonly written?: string;
}

/** What users do with proposals of `proposed for FILE`, and a second line. */
export const USES: readonly Use[] = [
  {
    file: "accepted.txt",
    act: (editor) => editor.accept(),
    written: "proposed for accepted.txt\nsecond\n",
  },
  {
    file: "edited.txt",
    async act(editor) {
      await editor.change("by the user: ü");
      await editor.accept();
    },
    written: "by the user: ü\nsecond\n",
  },
  { file: "rejected.txt", act: (editor) => editor.reject() },
  { file: "closed.txt", act: (editor) => editor.closeView() },
  {
    file: "answered.txt",
    act: (_editor, answerHere) => answerHere(),
    written: "proposed for answered.txt\nsecond\n",
  },
];

async function startNeovim(
  home: string,
  workspace: string,
): Promise<UsedEditor> {
  const temporary = join(home, "tmp");
  mkdirSync(temporary);
  const start = async (): Promise<Neovim> => {
    const started = await Neovim.start({ home, workspace });
    await started.listens();
    return started;
  };
  let neovim = await start();
  return {
    temporary,
    environment: () => neovim.environment(),
    open: (file) =>
      neovim.press(`<C-\\><C-N>:edit ${join(workspace, file)}<CR>ggVG<Esc>`),
    async shows(file, line) {
      await neovim.diffOf(join(workspace, file));
      await neovim.shows("vim.fn.getline(1)", new RegExp(line));
    },
    showsNone: () => neovim.showsNone(),
    change: (text) => neovim.press(`gg0C${text}<Esc>`),
    accept: () => neovim.press(":w<CR>"),
    reject: () => neovim.press(":DevtoolReject<CR>"),
    closeView: () => neovim.press(":q<CR>"),
    async restart() {
      neovim.signal("SIGKILL");
      neovim = await start();
    },
    [Symbol.asyncDispose]: () => neovim[Symbol.asyncDispose](),
  };
}

async function startVsCode(
  home: string,
  workspace: string,
): Promise<UsedEditor> {
  const code = await VsCode.open({ workspace, env: { HOME: home } });
  const { temporary } = code;
  const port = (): Promise<unknown> =>
    until(() => announced(join(temporary, "gemini/ide"))?.port);
  await port();
  const diff = (file = ""): ReturnType<VsCode["tab"]> =>
    code.tab(new RegExp(`${file}: proposed change`));
  return {
    temporary,
    // The terminal is beside it: agents find it by its file.
    environment: async () => ({}),
    async open(file) {
      await code.openFile(file);
      await code.page.locator(".view-line").first().click();
      await code.page.keyboard.press("Control+A");
    },
    async shows(file, line) {
      await diff(file).waitFor();
      const lines = code.page.locator(".editor.modified .view-line");
      await lines.filter({ hasText: line }).first().waitFor();
    },
    showsNone: () => diff().waitFor({ state: "detached" }),
    change: (text) => code.changeFirstLine(text),
    accept: () => code.press("Accept"),
    reject: () => code.press("Reject"),
    closeView: () => diff().click({ button: "middle" }),
    async restart() {
      const before = await port();
      await code.page.reload();
      await until(() => {
        const now = announced(join(temporary, "gemini/ide"))?.port;
        return now === undefined || now === before ? undefined : now;
      });
    },
    [Symbol.asyncDispose]: () => code[Symbol.asyncDispose](),
  };
}

/** The only file for agents; undefined while there is none, or two. */
function announced(directory: string): Record<string, unknown> | undefined {
  const names = existsSync(directory) ? readdirSync(directory) : [];
  return names.length === 1 && names[0]?.endsWith(".json")
    ? onlyFile(directory)
    : undefined;
}
