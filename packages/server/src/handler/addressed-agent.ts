import { create } from "@bufbuild/protobuf";
import { type ContextKey, createContextKey, type HandlerContext } from "@connectrpc/connect";
import { type SessionSettings, SessionSettingsSchema } from "@devtool/schema";
import { invalid, quoted } from "../errors.ts";

/** The agent that a call is addressed to, by its tenant or its path; empty where the transport leaves that to the settings. */
export const agentKey: ContextKey<string> = createContextKey("", { description: "agent" });

/** The agent that a call is addressed to; empty for none. */
export function agentOf({ values }: HandlerContext): string {
  return values.get(agentKey);
}

/** A request whose settings name the agent that its call is addressed to. Throws when they name another. */
export function addressed<T extends { readonly sessionSettings?: SessionSettings | undefined }>(
  request: T,
  context: HandlerContext,
): T {
  const agent = agentOf(context);
  if (agent === "") return request;
  const asked = request.sessionSettings?.agent ?? "";
  if (asked !== "" && asked !== agent) {
    throw invalid("session_settings.agent", asked, `is not the agent that the call is addressed to: ${quoted(agent)}`);
  }
  return { ...request, sessionSettings: { ...(request.sessionSettings ?? create(SessionSettingsSchema)), agent } };
}
