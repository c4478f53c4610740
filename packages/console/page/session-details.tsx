import type { Task } from "@devtool/schema";
import type { ReactNode } from "react";
import { AuditTrail } from "./audit-trail.tsx";
import { CheckpointList } from "./checkpoint-list.tsx";
import type { ConsoleClient } from "./console-client.ts";
import type { SessionPart } from "./place.ts";
import { Timeline } from "./timeline.tsx";
import { WorkspaceRules } from "./workspace-rules.tsx";

interface SessionDetailsProps {
  readonly client: ConsoleClient;
  readonly task: Task;
  readonly view: Exclude<SessionPart, "conversation">;
}

/** The parts of a session that are looked at now and then. */
export function SessionDetails({
  client,
  task,
  view,
}: SessionDetailsProps): ReactNode {
  const place = { client, taskId: task.id, head: task.sequence };
  switch (view) {
    case "timeline":
      return <Timeline {...place} />;
    case "audit":
      return <AuditTrail {...place} />;
    case "checkpoints":
      return <CheckpointList {...place} contextId={task.contextId} />;
    case "rules":
      return <WorkspaceRules {...place} />;
    default:
      return view satisfies never;
  }
}
