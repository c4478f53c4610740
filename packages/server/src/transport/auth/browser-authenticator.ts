import type { BrowserSessions } from "../../handler/browser-sessions.ts";
import { type Authenticator, bearerOf } from "./authenticator.ts";

/** Identifies callers by the tokens of browser sessions, and ends their connections with the session. */
export function createBrowserAuthenticator(sessions: BrowserSessions): Authenticator {
  return {
    authenticate(request) {
      const token = bearerOf(request);
      const caller = token === "" ? undefined : sessions.callerOf(token);
      if (!caller) return { case: "none" };
      sessions.hold(token, "stream" in request ? request.stream : request.socket);
      return { case: "caller", value: caller };
    },
  };
}
