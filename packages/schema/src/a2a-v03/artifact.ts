import { create, type JsonObject } from "@bufbuild/protobuf";
import { fieldsOf } from "../fields-of.ts";
import {
  type Artifact as A2aArtifact,
  ArtifactSchema as A2aArtifactSchema,
  type TaskArtifactUpdateEvent,
  TaskArtifactUpdateEventSchema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import {
  type ArtifactUpdate,
  ArtifactUpdateSchema,
  type TaskEvent,
  TaskEventSchema,
} from "../gen/devtool/v1alpha/task_event_pb.ts";
import {
  type Artifact,
  ArtifactSchema,
  TaskState,
} from "../gen/devtool/v1alpha/task_pb.ts";
import { encodeRfcJson } from "../rfc-json.ts";
import { missing } from "../wire-error.ts";
import { decodePartWith, encodePart } from "./part.ts";

/** Encodes an artifact as one of A2A 0.3. */
export function artifactEnvelope(artifact: Artifact): A2aArtifact {
  return create(A2aArtifactSchema, {
    ...fieldsOf(artifact),
    parts: artifact.parts.flatMap((part) => encodePart(part) ?? []),
  });
}

/**
 * Decodes an artifact of A2A 0.3. Throws a `WireError` that names the first
 * part without content.
 */
export function decodeArtifact(envelope: A2aArtifact, path: string): Artifact {
  return create(ArtifactSchema, {
    ...fieldsOf(envelope),
    // Data in an artifact is never an answer or a tool call of the extension.
    parts: envelope.parts.map((part, index) =>
      decodePartWith(part, `${path}.parts[${index}]`, (value) => ({
        case: "data",
        value,
      })),
    ),
  });
}

/**
 * Encodes an update of an artifact as the JSON of a TaskArtifactUpdateEvent.
 */
export function encodeArtifactUpdate(
  { taskId, contextId }: TaskEvent,
  update: ArtifactUpdate,
): JsonObject {
  const { artifact, append, lastChunk } = update;
  const envelope = create(TaskArtifactUpdateEventSchema, {
    kind: "artifact-update",
    taskId,
    contextId,
    artifact: artifactEnvelope(artifact ?? create(ArtifactSchema)),
    append,
    lastChunk,
  });
  return encodeRfcJson(TaskArtifactUpdateEventSchema, envelope);
}

/**
 * Decodes an update of an artifact. The standard sends no state with it, so the
 * state of the event is WORKING.
 */
export function decodeArtifactUpdate(
  update: TaskArtifactUpdateEvent,
  sequence: bigint,
): TaskEvent {
  const { taskId, contextId, artifact, append, lastChunk } = update;
  if (!artifact) throw missing("result.artifact");
  const value = create(ArtifactUpdateSchema, {
    artifact: decodeArtifact(artifact, "result.artifact"),
    append,
    lastChunk,
  });
  const state = TaskState.WORKING;
  return create(TaskEventSchema, {
    sequence,
    taskId,
    contextId,
    state,
    payload: { case: "artifact", value },
  });
}
