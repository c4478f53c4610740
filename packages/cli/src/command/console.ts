import { spawn } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import { type BrowserAccessService, type BrowserSession, visibleText } from "@devtool/schema";
import { failpoint } from "@devtool/server/operator";
import { browserAccess } from "../browser-access.ts";
import type { ConnectionOptions } from "../connection.ts";
import { defaultDataDirectory } from "../discovery.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";
import { writePrivateFile } from "../private-file.ts";

/** The options of `devtool console`. */
export interface ConsoleOptions extends ConnectionOptions {
  readonly list?: true;
  readonly revoke?: string;
  readonly label?: string;
  readonly open?: boolean;
}

type Access = Client<typeof BrowserAccessService>;

/** `devtool console`: opens the console in a browser, or lists and revokes the sessions of browsers. */
export async function openConsole(options: ConsoleOptions, io: Io): Promise<number> {
  const { access, url } = await browserAccess(options, io);
  try {
    if (options.list) await listSessions(access, io);
    else if (options.revoke !== undefined) await access.revokeBrowserSession({ id: options.revoke });
    else await openPage(access, url, options, io);
  } catch (reason) {
    if (ConnectError.from(reason).code !== Code.Unimplemented) throw reason;
    throw new Error(
      'the server has no console: start it without --no-console, and with "[console] enabled" not false',
      {
        cause: reason,
      },
    );
  }
  return ExitCode.OK;
}

async function listSessions(access: Access, io: Io): Promise<void> {
  const { sessions } = await access.listBrowserSessions({});
  for (const session of sessions) writeLine(io.stdout, sessionLine(session));
}

function sessionLine({ id, label, createTime, expireTime }: BrowserSession): string {
  const time = (at: typeof createTime): string => (at ? timestampDate(at).toISOString() : "");
  return visibleText(`${id}  since ${time(createTime)}  until ${time(expireTime)}  ${label}`).trimEnd();
}

async function openPage(
  access: Access,
  url: string,
  { label = "", data, open }: ConsoleOptions,
  io: Io,
): Promise<void> {
  const { code } = await access.createAccessCode({ label });
  // A server that is not ours may send anything, and a page and a terminal would run it.
  const address = `${url}/console/#code=${encodeURIComponent(code)}`;
  if (open !== false) await openInBrowser(address, data ?? defaultDataDirectory(io.env), io);
  writeLine(io.stdout, `Open this address within a minute; it works once:\n\n  ${address}\n`);
}

/**
 * Opens an address in the default browser.
 *
 * Other users of this machine can read the arguments of programs, and the address has a code. So the browser opens a
 * file that only this user can read, which leads to the address.
 */
async function openInBrowser(address: string, dataDirectory: string, io: Io): Promise<void> {
  const file = join(dataDirectory, "open-console.html");
  await writePrivateFile(file, `<!doctype html><meta http-equiv="refresh" content="0;url=${address}">\n`);
  const [program, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  failpoint("devtool:browser.open.before");
  const opener = spawn(io.env.BROWSER ?? program, [...(io.env.BROWSER ? [] : args), pathToFileURL(file).href], {
    detached: true,
    stdio: "ignore",
  });
  failpoint("devtool:browser.open.after");
  // Without a browser, the address is printed all the same.
  opener.on("error", () => undefined);
  opener.unref();
}

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};
