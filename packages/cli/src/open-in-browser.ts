import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";
import { failpoint } from "@devtool/internal/failpoint";
import type { Io } from "./io.ts";
import { writePrivateFile } from "./private-file.ts";

/**
 * Opens an http or https address in the default browser.
 *
 * Other users of this machine can read the arguments of programs, and the
 * address has a secret. So the browser opens `file`, which only this user can
 * read, and which leads to the address.
 */
export async function openInBrowser(
  address: string,
  file: string,
  io: Io,
): Promise<void> {
  const attribute = address.replaceAll("&", "&amp;").replaceAll('"', "%22");
  await writePrivateFile(
    file,
    `<!doctype html><meta http-equiv="refresh" content="0;url=${attribute}">\n`,
  );
  const [program, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  failpoint("devtool:browser.open.before");
  const opener = spawn(
    io.env.BROWSER ?? program,
    [...(io.env.BROWSER ? [] : args), pathToFileURL(file).href],
    {
      detached: true,
      stdio: "ignore",
    },
  );
  failpoint("devtool:browser.open.after");
  // Without a browser, the address is printed all the same.
  opener.on("error", () => undefined);
  opener.unref();
}

const OPENERS: Readonly<
  Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>
> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};
