import type { TrustKeeper } from "../trust/trust.ts";

/** The trust of a server that keeps nothing: no workspace may configure its agents. */
export const noTrust: TrustKeeper = {
  trustOf: () => Promise.resolve({ case: "untrusted", reason: "" }),
  follow: () => Promise.resolve(false),
};
