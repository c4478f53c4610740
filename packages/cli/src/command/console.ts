import { join } from "node:path";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  type Client,
  Code,
  ConnectError,
  createClient,
} from "@connectrpc/connect";
import { bearerInterceptor } from "@devtool/client";
import { defined } from "@devtool/internal/json";
import {
  AccessCodeKind,
  BrowserAccessService,
  type BrowserSession,
} from "@devtool/schema";
import {
  type ConnectionOptions,
  requireServer,
  trustIn,
} from "../connection/connection.ts";
import { defaultDataDirectory } from "../connection/discovery.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";
import { openInBrowser } from "../open-in-browser.ts";
import {
  missingForPhone,
  qrCode,
  selfSignedFingerprint,
} from "../phone-code.ts";
import { visibleName } from "../render/style.ts";

/** The options of `devtool console`. */
interface ConsoleOptions extends ConnectionOptions {
  readonly list?: true;
  readonly revoke?: string;
  readonly label?: string;
  readonly open?: boolean;
}

type Access = Client<typeof BrowserAccessService>;

/**
 * `devtool console`: opens the console in a browser, or lists and revokes the
 * sessions of browsers.
 */
export async function openConsole(
  options: ConsoleOptions,
  io: Io,
): Promise<number> {
  const { access, url } = await browserAccess(options, io);
  const { label = "", data = defaultDataDirectory(io.env), open } = options;
  return withConsole(async () => {
    if (options.list) {
      await listSessions(access, io);
    } else if (options.revoke !== undefined) {
      await access.revokeBrowserSession({ id: options.revoke });
      const revoked = `browser session "${visibleName(options.revoke)}" has no access any more`;
      writeLine(io.stdout, revoked);
    } else {
      const { code } = await access.createAccessCode({ label });
      const address = codedAddress(url, "code", code);
      if (open !== false) {
        await openInBrowser(address, join(data, "open-console.html"), io);
      }
      writeLine(
        io.stdout,
        `Open this address within a minute; it works once:\n\n  ${address}\n`,
      );
      writeLine(io.stdout, "For a phone: devtool pair");
    }
    return ExitCode.OK;
  });
}

/**
 * `devtool pair`: gives a phone or another device access to the console, or says
 * what the server needs for that.
 */
export async function pair(
  options: ConnectionOptions & { readonly label?: string },
  io: Io,
): Promise<number> {
  const { access, publicUrl, certificate } = await browserAccess(options, io);
  const missing = missingForPhone(publicUrl);
  if (missing.length > 0) {
    const needs = missing.map((need) => `\n  - ${need}`).join("");
    writeLine(
      io.stderr,
      `a phone cannot open ${publicUrl}: the server needs${needs}`,
    );
    return ExitCode.FAILED;
  }
  return withConsole(async () => {
    const { label = "phone" } = options;
    const kind = AccessCodeKind.DEVICE;
    const { code } = await access.createAccessCode({ label, kind });
    writeLine(
      io.stdout,
      `Open ${publicUrl}/console/ on the phone, and type this code, or scan the picture:

  ${visibleName(code)}

${qrCode(codedAddress(publicUrl, "pair", code))}

It works once, within five minutes. The phone then has access for 14 days;
"devtool console --list" shows it, and "devtool console --revoke ID" ends it.`,
    );
    const fingerprint = certificate && selfSignedFingerprint(certificate);
    if (fingerprint) {
      const warning =
        "The phone will warn, because no authority has signed the certificate. Its SHA-256 fingerprint is";
      writeLine(io.stdout, `${warning}\n  ${fingerprint}`);
    }
    return ExitCode.OK;
  });
}

/** Does something, and says what to do when the server has no console. */
async function withConsole(work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (reason) {
    if (ConnectError.from(reason).code !== Code.Unimplemented) throw reason;
    throw new Error(
      'the server has no console: start it without --no-console, and without "enabled = false" in [console] of its configuration',
      { cause: reason },
    );
  }
}

/** The service that gives browsers access, and the address of its server. */
interface BrowserAccess {
  readonly access: Access;
  readonly url: string;
  /** The URL at which browsers on other machines reach the server. */
  readonly publicUrl: string;
  /** The certificate chain of the server in PEM. Default: not known. */
  readonly certificate?: string;
}

/**
 * Connects to the running or named server, over Connect. Throws when there is
 * none.
 */
async function browserAccess(
  options: ConnectionOptions,
  io: Io,
): Promise<BrowserAccess> {
  const { url, token, certificate, info } = await requireServer(
    options,
    io,
    AbortSignal.timeout(10_000),
  );
  const { nodeOptions } = await trustIn(certificate);
  const { createConnectTransport } = await import("@connectrpc/connect-node");
  const interceptors = [bearerInterceptor(token)];
  const transport = createConnectTransport({
    baseUrl: url,
    httpVersion: "1.1",
    interceptors,
    nodeOptions,
  });
  const access = createClient(BrowserAccessService, transport);
  return {
    access,
    url,
    publicUrl: info?.publicUrl || url,
    ...defined({ certificate }),
  };
}

async function listSessions(access: Access, io: Io): Promise<void> {
  const { sessions } = await access.listBrowserSessions({});
  if (sessions.length === 0) writeLine(io.stderr, "no browser has access");
  const time = (at: BrowserSession["createTime"]): string =>
    at ? timestampDate(at).toISOString() : "";
  for (const session of sessions) {
    const { id, label, createTime, expireTime, isNotified } = session;
    const notified = isNotified ? "notified  " : "";
    const line = `${id}  since ${time(createTime)}  until ${time(expireTime)}  ${notified}${label}`;
    writeLine(io.stdout, visibleName(line).trimEnd());
  }
}

/** Returns the address of the console with a code. */
function codedAddress(
  url: string,
  name: "code" | "pair",
  code: string,
): string {
  // A server that is not ours may send anything, and a page and a terminal
  // would run it.
  return `${url}/console/#${name}=${encodeURIComponent(code)}`;
}
