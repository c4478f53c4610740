import { existsSync } from "node:fs";
import {
  type FoundFile,
  findCompanions,
  ideProcess,
} from "@devtool/ide/operator";
import { isOtherProcess } from "@devtool/internal/other-process";
import { visibleText } from "@devtool/internal/visible-text";
import { ExitCode } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";
import { type Look, paintFor } from "../render/style.ts";

const MARKS: Readonly<
  Record<
    FoundFile["verdict"],
    readonly [mark: string, look: Look, word: string]
  >
> = {
  chosen: ["✓", "good", "chosen"],
  broken: ["✗", "bad", "chosen, but it does not work"],
  passed_over: ["·", "dim", "not chosen"],
  refused: ["✗", "bad", "refused"],
};

/**
 * `devtool ide doctor`: says which companion of an editor each agent in a
 * terminal would connect to from here, and why to no other one.
 */
export async function ideDoctor(
  { workspace = process.cwd() }: { readonly workspace?: string },
  io: Io,
): Promise<number> {
  const reports = await findCompanions({
    cwd: workspace,
    env: io.env,
    user: process.getuid?.(),
    isInContainer: ["/.dockerenv", "/run/.containerenv"].some((path) =>
      existsSync(path),
    ),
    idePid: ideProcess(io.env, process.pid),
    isRunning: (pid) => pid === process.pid || isOtherProcess(pid),
  });
  const paint = paintFor(io);
  for (const { agent, directory, files } of reports) {
    writeLine(io.stdout, paint("heading", agent));
    if (files.length === 0) {
      const says = `no companion has announced itself in "${directory}": open the folder in an editor with a companion`;
      writeLine(io.stdout, `  ${paint("dim", "·")} ${visibleText(says)}`);
    }
    for (const { path, verdict, says, warning } of files) {
      const [mark, look, word] = MARKS[verdict];
      writeLine(io.stdout, `  ${paint(look, mark)} ${shown(path)}`);
      writeLine(io.stdout, `    ${word}: ${shown(says)}`);
      if (warning !== "") {
        writeLine(
          io.stdout,
          `    ${paint("warning", "warning")}: ${shown(warning)}`,
        );
      }
    }
  }
  const isFound = reports.some(({ files }) =>
    files.some(({ verdict }) => verdict === "chosen"),
  );
  return isFound ? ExitCode.OK : ExitCode.FAILED;
}

/** What a file says is not ours: one line, without what a terminal acts on. */
function shown(text: string): string {
  return visibleText(text).replaceAll(/\s+/g, " ");
}
