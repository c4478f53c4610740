import { changeAnswers, changeRequests, type Faults } from "./fault.ts";

/** Faults of sessions and their settings. */
export const SESSION: Faults = {
  "SESSION-1": {
    "a missing workspace is accepted": changeRequests((body) =>
      body.replace('{"workspace_path":"/nowhere/at/all"}', "{}"),
    ),
    "settings under another version of the extension are ignored":
      changeRequests((body) =>
        body.replace("developer-profile/v7/spec.md", "other/v7/spec.md"),
      ),
    "an empty workspace is the default one": changeRequests((body) =>
      body.replace(/\{"workspace_path":(""|null)\}/, "{}"),
    ),
  },
  "SESSION-2": {
    "another workspace is accepted": changeRequests((body) =>
      body.replace('{"workspace_path":"/tmp"}', "{}"),
    ),
  },
  "SESSION-3": {
    "sessions can extend what they are allowed": changeRequests((body) =>
      body.replace(
        '"approvalMode":"APPROVAL_MODE_PLAN"',
        '"approvalMode":"APPROVAL_MODE_YOLO"',
      ),
    ),
    "the allowed tools in AgentSettings are ignored": changeRequests((body) =>
      body.replace('{"allowed_tools":["read_file"]}', "{}"),
    ),
    "unknown settings are ignored": changeRequests((body) =>
      body.replace('{"allowed":["read_file"]}', "{}"),
    ),
    "settings in a part are ignored (V20)": changeRequests((body) =>
      body.replace(
        /"metadata":\{"(?:https:[^"]*settings[^"]*|allowedTools)":[^{}]*\{?[^{}]*\}?\}(?=\}\])/,
        '"metadata":{}',
      ),
    ),
    "settings in another spelling are ignored": changeRequests((body) =>
      body
        .replace('{"allowed-tools":["read_file"]}', "{}")
        .replace("session_settings/v1alpha", "others/v1alpha"),
    ),
  },
  "SESSION-4": {
    "the model is that of the first message": changeAnswers((text) =>
      text.replaceAll("conformance-second", "conformance-first"),
    ),
  },
  "SESSION-5": {
    "an unknown agent is the default one": changeRequests((body) =>
      body.replace('{"agent":"no-such-agent"}', "{}"),
    ),
  },
};
