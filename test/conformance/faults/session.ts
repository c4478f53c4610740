import { answers, type Fault, fault, requests } from "./fault.ts";

/** The faults of sessions and their settings. */
export const SESSION: readonly Fault[] = [
  fault(
    "SESSION-1",
    "a workspace that is not there is taken",
    requests((body) => body.replace('{"workspace_path":"/nowhere/at/all"}', "{}")),
  ),
  fault(
    "SESSION-1",
    "settings under another version of the extension are passed over",
    requests((body) => body.replace("developer-profile/v7/spec.md", "other/v7/spec.md")),
  ),
  fault(
    "SESSION-1",
    "an empty workspace is the default one",
    requests((body) => body.replace(/\{"workspace_path":(""|null)\}/, "{}")),
  ),
  fault(
    "SESSION-2",
    "another workspace is taken",
    requests((body) => body.replace('{"workspace_path":"/tmp"}', "{}")),
  ),
  fault(
    "SESSION-3",
    "sessions may go further than they are allowed",
    requests((body) => body.replace('"approvalMode":"APPROVAL_MODE_PLAN"', '"approvalMode":"APPROVAL_MODE_YOLO"')),
  ),
  fault(
    "SESSION-3",
    "tools that may be used are passed over in AgentSettings",
    requests((body) => body.replace('{"allowed_tools":["read_file"]}', "{}")),
  ),
  fault(
    "SESSION-3",
    "unknown settings are passed over",
    requests((body) => body.replace('{"allowed":["read_file"]}', "{}")),
  ),
  fault(
    "SESSION-4",
    "the model is that of the first message",
    answers((text) => text.replaceAll("conformance-second", "conformance-first")),
  ),
  fault(
    "SESSION-5",
    "an agent that is not served is the default one",
    requests((body) => body.replace('{"agent":"no-such-agent"}', "{}")),
  ),
];
