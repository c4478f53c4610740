import { changeAnswers, changeRequests, type Fault, fault } from "./fault.ts";

/** Faults of sessions and their settings. */
export const SESSION: readonly Fault[] = [
  fault(
    "SESSION-1",
    "a missing workspace is accepted",
    changeRequests((body) =>
      body.replace('{"workspace_path":"/nowhere/at/all"}', "{}"),
    ),
  ),
  fault(
    "SESSION-1",
    "settings under another version of the extension are ignored",
    changeRequests((body) =>
      body.replace("developer-profile/v7/spec.md", "other/v7/spec.md"),
    ),
  ),
  fault(
    "SESSION-1",
    "an empty workspace is the default one",
    changeRequests((body) =>
      body.replace(/\{"workspace_path":(""|null)\}/, "{}"),
    ),
  ),
  fault(
    "SESSION-2",
    "another workspace is accepted",
    changeRequests((body) => body.replace('{"workspace_path":"/tmp"}', "{}")),
  ),
  fault(
    "SESSION-3",
    "sessions can extend what they are allowed",
    changeRequests((body) =>
      body.replace(
        '"approvalMode":"APPROVAL_MODE_PLAN"',
        '"approvalMode":"APPROVAL_MODE_YOLO"',
      ),
    ),
  ),
  fault(
    "SESSION-3",
    "the allowed tools in AgentSettings are ignored",
    changeRequests((body) =>
      body.replace('{"allowed_tools":["read_file"]}', "{}"),
    ),
  ),
  fault(
    "SESSION-3",
    "unknown settings are ignored",
    changeRequests((body) => body.replace('{"allowed":["read_file"]}', "{}")),
  ),
  fault(
    "SESSION-3",
    "settings in a part are ignored (V20)",
    changeRequests((body) =>
      body.replace(
        /"metadata":\{"(?:https:[^"]*settings[^"]*|allowedTools)":[^{}]*\{?[^{}]*\}?\}(?=\}\])/,
        '"metadata":{}',
      ),
    ),
  ),
  fault(
    "SESSION-3",
    "settings in another spelling are ignored",
    changeRequests((body) =>
      body
        .replace('{"allowed-tools":["read_file"]}', "{}")
        .replace("session_settings/v1alpha", "others/v1alpha"),
    ),
  ),
  fault(
    "SESSION-4",
    "the model is that of the first message",
    changeAnswers((text) =>
      text.replaceAll("conformance-second", "conformance-first"),
    ),
  ),
  fault(
    "SESSION-5",
    "an unknown agent is the default one",
    changeRequests((body) => body.replace('{"agent":"no-such-agent"}', "{}")),
  ),
];
