import { createClient, type Transport } from "@connectrpc/connect";
import { BrowserAccessService } from "@devtool/schema";

/**
 * Where this tab keeps its token. Other tabs, other ports and other programs do
 * not have it.
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
  const code = codeInAddress();
  if (code === null) return kept();
  history.replaceState(null, "", location.pathname);
  try {
    const { token, session } = await createClient(
      BrowserAccessService,
      transport,
    ).redeemAccessCode({ code, browser: browserName() });
    sessionStorage.setItem(KEY, token);
    sessionStorage.setItem(SESSION_KEY, session?.id ?? "");
    return { case: "token", token };
  } catch {
    const access = kept();
    return access.case === "token" ? access : { case: "none", failed: true };
  }
}

/**
 * Enters again when a code comes into the address of the open page: a browser
 * loads nothing for an address that differs only there.
 */
export function enterAgainByCode(): void {
  window.addEventListener("hashchange", () => {
    if (codeInAddress() !== null) location.reload();
  });
}

function codeInAddress(): string | null {
  return new URLSearchParams(location.hash.slice(1)).get("code");
}

/** Whether a session is that of this tab. */
export function isOwnSession(id: string): boolean {
  return sessionStorage.getItem(SESSION_KEY) === id;
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

/** Forgets the token of this tab. */
export function forgetAccess(): void {
  sessionStorage.removeItem(KEY);
}

function kept(): Access {
  const token = sessionStorage.getItem(KEY);
  return token === null
    ? { case: "none", failed: false }
    : { case: "token", token };
}
