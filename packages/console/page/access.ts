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

/** A code that has come with the address of the page. */
export interface OfferedCode {
  readonly code: string;
  /** Where the token is kept that it is redeemed for. */
  readonly keeper: Storage;
  /** Whether the token takes the place of one that this browser has. */
  readonly replaces: boolean;
}

/** The access of this tab to the server. */
export type Access =
  | { readonly case: "token"; readonly token: string }
  /** There may be none yet: the user decides about the code. */
  | { readonly case: "offered"; readonly offered: OfferedCode }
  /** There is none; `failed` when the code in the address was refused. */
  | { readonly case: "none"; readonly failed: boolean };

/**
 * Returns the access of this tab. The code of a link is redeemed for it, if the
 * address has one.
 *
 * Anybody can send a link with a code of their own, and a browser that redeems
 * it works as them. So the code of a device, whose token stays, and one that
 * replaces a token are left to the user. The code is removed from the address
 * first, so that it is in no history.
 */
export async function enter(transport: Transport): Promise<Access> {
  const { code, isForDevice } = codeInAddress();
  if (code === null) return kept();
  history.replaceState(null, "", location.pathname);
  const replaces = keptItem(KEY) !== null;
  const keeper = isForDevice ? deviceStorage() : sessionStorage;
  if (isForDevice || replaces) {
    return { case: "offered", offered: { code, keeper, replaces } };
  }
  try {
    return { case: "token", token: await redeem(transport, code, keeper) };
  } catch {
    return { case: "none", failed: true };
  }
}

/**
 * Redeems a code, keeps the token in place of the one that there was, and
 * returns it. Throws a `ConnectError` when the code is refused.
 */
export async function redeem(
  transport: Transport,
  code: string,
  keeper: Storage,
): Promise<string> {
  const { token, session } = await createClient(
    BrowserAccessService,
    transport,
  ).redeemAccessCode({ code, browser: browserName() });
  // The token of the tab would hide that of the device.
  forgetIn(sessionStorage);
  keeper.setItem(KEY, token);
  keeper.setItem(SESSION_KEY, session?.id ?? "");
  return token;
}

/** Returns where the token of a paired device is kept. */
export function deviceStorage(): Storage {
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

function codeInAddress(): {
  readonly code: string | null;
  readonly isForDevice: boolean;
} {
  const given = new URLSearchParams(location.hash.slice(1));
  const paired = given.get("pair");
  return { code: paired ?? given.get("code"), isForDevice: paired !== null };
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

/** Forgets the access of this tab, or of this device if the tab has none. */
export function forgetAccess(): void {
  forgetIn(
    sessionStorage.getItem(KEY) === null ? localStorage : sessionStorage,
  );
}

function forgetIn(keeper: Storage): void {
  for (const key of [KEY, SESSION_KEY]) keeper.removeItem(key);
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
