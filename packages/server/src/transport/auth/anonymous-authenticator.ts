import { ANONYMOUS } from "../../handler/caller.ts";
import type { Authenticator } from "./authenticator.ts";

/** Lets in who sends no credentials, with no rights; who sends some is for others to judge, and stays out when they are wrong. */
export const anonymousAuthenticator: Authenticator = {
  authenticate: ({ headers }) =>
    headers.authorization === undefined ? { case: "caller", value: ANONYMOUS } : { case: "none" },
};
