import { homedir } from "node:os";
import { dirname, isAbsolute } from "node:path";
import { isInside, realPath } from "@devtool/internal/real-path";
import { type HostPrograms, type Sandbox, startPiped } from "@devtool/sandbox";
import { Code, DevtoolError, type StdioCommand } from "@devtool/server/agent";

/**
 * Returns a command that starts a server in the sandbox of commands. It writes
 * the workspace, reads its working directory and the directory of its program,
 * and has no network. Of a program that lies in the home directory itself, or
 * above it, it reads the file alone.
 *
 * Throws `Code.FailedPrecondition` where no sandbox works, and for a working
 * directory with the home directory in it.
 */
export async function confineServer(
  host: {
    readonly programs: HostPrograms;
    readonly sandbox: () => Promise<Sandbox>;
  },
  command: StdioCommand,
  workspacePath: string,
): Promise<StdioCommand> {
  const sandbox = await host.sandbox();
  if (!sandbox.confines) {
    throw new DevtoolError(
      sandbox.notice || "the sandbox is switched off",
      Code.FailedPrecondition,
    );
  }
  const { command: program, args, environment } = command;
  const workspace = realPath(workspacePath) ?? workspacePath;
  const workingDirectory =
    realPath(command.workingDirectory) ?? command.workingDirectory;
  if (!isInside(workspace, workingDirectory) && hasHome(workingDirectory)) {
    throw new DevtoolError(
      `working_directory ${JSON.stringify(command.workingDirectory)} has the home directory in it, which a server in the sandbox would read`,
      Code.FailedPrecondition,
      { remedy: "name a directory of the server's own" },
    );
  }
  const readable = [
    workingDirectory,
    ...(isAbsolute(program) ? [placeOf(program)] : []),
  ];
  const confined = await sandbox.command({
    argv: [program, ...args],
    workingDirectory,
    environment,
    shell: host.programs.get("bash", [workspace]),
    access: {
      workspace,
      readable: readable.filter((path) => !isInside(workspace, path)),
      writable: [],
      network: "none",
    },
  });
  return { ...command, start: () => startPiped(confined) };
}

/** Returns the directory of a program, or its file where that is too much. */
function placeOf(program: string): string {
  const file = realPath(program) ?? program;
  const directory = dirname(file);
  return hasHome(directory) ? file : directory;
}

/** Whether a directory is the home directory, or has it in it. */
function hasHome(directory: string): boolean {
  const home = realPath(homedir());
  return home !== undefined && isInside(directory, home);
}
