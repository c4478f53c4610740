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
import { BrowserAccessService, type BrowserSession } from "@devtool/schema";
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
  const found = await browserAccess(options, io);
  const { access, url } = found;
  const { label = "", data = defaultDataDirectory(io.env), open } = options;
  try {
    if (options.list) {
      await listSessions(access, io);
    } else if (options.revoke !== undefined) {
      await access.revokeBrowserSession({ id: options.revoke });
      const revoked = `browser session "${visibleName(options.revoke)}" has no access any more`;
      writeLine(io.stdout, revoked);
    } else {
      const address = await codedAddress(access, url, label);
      if (open !== false) {
        await openInBrowser(address, join(data, "open-console.html"), io);
      }
      writeLine(
        io.stdout,
        `Open this address within a minute; it works once:\n\n  ${address}\n`,
      );
      await showPhoneCode(found, io);
    }
  } catch (reason) {
    if (ConnectError.from(reason).code !== Code.Unimplemented) throw reason;
    throw new Error(
      'the server has no console: start it without --no-console, and without "enabled = false" in [console] of its configuration',
      { cause: reason },
    );
  }
  return ExitCode.OK;
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
  for (const { id, label, createTime, expireTime } of sessions) {
    const line = `${id}  since ${time(createTime)}  until ${time(expireTime)}  ${label}`;
    writeLine(io.stdout, visibleName(line).trimEnd());
  }
}

/**
 * Prints a QR code with an address for a phone, or what the server needs for
 * that. The phone gets a code, and so a session, of its own.
 */
async function showPhoneCode(
  { access, publicUrl, certificate }: BrowserAccess,
  io: Io,
): Promise<void> {
  const missing = missingForPhone(publicUrl);
  if (missing.length > 0) {
    const needs = missing.map((need) => `\n  - ${need}`).join("");
    return writeLine(
      io.stdout,
      `A phone cannot open ${publicUrl}. For a QR code, the server needs:${needs}`,
    );
  }
  const code = qrCode(await codedAddress(access, publicUrl, "phone"));
  writeLine(
    io.stdout,
    `Or scan this with a phone within a minute; it works once, for ${publicUrl}:\n\n${code}\n`,
  );
  const fingerprint = certificate && selfSignedFingerprint(certificate);
  if (fingerprint) {
    const warning =
      "The phone will warn, because no authority has signed the certificate. Its SHA-256 fingerprint is";
    writeLine(io.stdout, `${warning}\n  ${fingerprint}`);
  }
}

/** Returns the address of the console with a new code. */
async function codedAddress(
  access: Access,
  url: string,
  label: string,
): Promise<string> {
  const { code } = await access.createAccessCode({ label });
  // A server that is not ours may send anything, and a page and a terminal
  // would run it.
  return `${url}/console/#code=${encodeURIComponent(code)}`;
}
