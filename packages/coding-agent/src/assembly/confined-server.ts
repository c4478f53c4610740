import { dirname, isAbsolute } from "node:path";
import { isInside, realPath } from "@devtool/internal/real-path";
import { type HostPrograms, type Sandbox, startPiped } from "@devtool/sandbox";
import { Code, DevtoolError, type StdioCommand } from "@devtool/server/agent";

/**
 * Returns a command that starts a server in the sandbox of commands. It writes
 * the workspace, reads its working directory and the directory of its program,
 * and has no network.
 *
 * Throws `Code.FailedPrecondition` where no sandbox works.
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
  const directories = [
    workingDirectory,
    ...(isAbsolute(program) ? [dirname(realPath(program) ?? program)] : []),
  ];
  const confined = await sandbox.command({
    argv: [program, ...args],
    workingDirectory,
    environment,
    shell: host.programs.get("bash", [workspace]),
    access: {
      workspace,
      readable: directories.filter((path) => !isInside(workspace, path)),
      writable: [],
      network: "none",
    },
  });
  return { ...command, start: () => startPiped(confined) };
}
