import { createClient, type Transport } from "@connectrpc/connect";
import { BrowserAccessService } from "@devtool/schema";

/**
 * Where a page keeps its token: the tab, which no other tab, port or program
 * has; or the device, once it is paired. That is only over HTTPS: another
 * program may listen at an address without a certificate later.
 */
const KEY = "devtool.token";

/** Where this tab keeps the id of its session, which is no secret. */
const SESSION_KEY = "devtool.session";

/** The access of this tab to the server. */
export type Access =
  | { readonly case: "token"; readonly token: string }
  /** There is none; `failed` when the code in the address was refused. */
  | { readonly case: "none"; readonly failed: boolean };

/**
 * Redeems the code in the address, if there is one, and returns the access of
 * this tab.
 *
 * The code is removed from the address first, so that it is in no history.
 */
export async function enter(transport: Transport): Promise<Access> {
  const { code, keeper } = codeInAddress();
  if (code === null) return kept();
  history.replaceState(null, "", location.pathname);
  try {
    return { case: "token", token: await redeem(transport, code, keeper) };
  } catch {
    const access = kept();
    return access.case === "token" ? access : { case: "none", failed: true };
  }
}

/**
 * Gives this device access by a code that its user has typed. Throws a
 * `ConnectError` when it is refused.
 */
export async function pairDevice(
  transport: Transport,
  code: string,
): Promise<void> {
  await redeem(transport, code, deviceStorage());
}

async function redeem(
  transport: Transport,
  code: string,
  keeper: Storage,
): Promise<string> {
  const { token, session } = await createClient(
    BrowserAccessService,
    transport,
  ).redeemAccessCode({ code, browser: browserName() });
  keeper.setItem(KEY, token);
  keeper.setItem(SESSION_KEY, session?.id ?? "");
  return token;
}

function deviceStorage(): Storage {
  return location.protocol === "https:" ? localStorage : sessionStorage;
}

/**
 * Enters again when a code comes into the address of the open page: a browser
 * loads nothing for an address that differs only there.
 */
export function enterAgainByCode(): void {
  window.addEventListener("hashchange", () => {
    if (codeInAddress().code !== null) location.reload();
  });
}

/** Returns the code in the address, and where its token is kept. */
function codeInAddress(): {
  readonly code: string | null;
  readonly keeper: Storage;
} {
  const given = new URLSearchParams(location.hash.slice(1));
  const paired = given.get("pair");
  return paired === null
    ? { code: given.get("code"), keeper: sessionStorage }
    : { code: paired, keeper: deviceStorage() };
}

/** Whether a session is that of this tab. */
export function isOwnSession(id: string): boolean {
  return keptItem(SESSION_KEY) === id;
}

/**
 * Returns what this browser is, from what it tells each server; empty when that
 * has no name that people know.
 */
function browserName(): string {
  const { userAgent } = navigator;
  const find = (names: readonly string[]): string =>
    names.find((name) => userAgent.includes(name)) ?? "";
  // Browsers name their forerunners, too.
  const browser = find(["Firefox", "Edg", "Chrome", "Safari"]);
  const system = find([
    "Android",
    "iPhone",
    "iPad",
    "Windows",
    "Mac OS",
    "Linux",
  ]);
  return [browser.replace("Edg", "Edge"), system].filter(Boolean).join(", ");
}

/** Forgets the token of this tab, or of this device if the tab has none. */
export function forgetAccess(): void {
  const keeper =
    sessionStorage.getItem(KEY) === null ? localStorage : sessionStorage;
  keeper.removeItem(KEY);
}

function keptItem(key: string): string | null {
  return sessionStorage.getItem(key) ?? localStorage.getItem(key);
}

function kept(): Access {
  const token = keptItem(KEY);
  return token === null
    ? { case: "none", failed: false }
    : { case: "token", token };
}
