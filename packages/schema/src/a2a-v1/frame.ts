import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  TaskArtifactUpdateEventSchema as ArtifactUpdateV03Schema,
  MessageSchema as MessageV03Schema,
  TaskSchema as TaskV03Schema,
  TaskStatusUpdateEventSchema as UpdateV03Schema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import type { StreamResponse } from "../gen/lf/a2a/v1/a2a_pb.ts";
import { encodeRfcJson } from "../rfc-json.ts";
import { isAtRest } from "../task-state.ts";
import { missing, WireError } from "../wire-error.ts";
import { artifactToV03 } from "./artifact.ts";
import { messageToV03 } from "./message.ts";
import { stateFromA2a } from "./state.ts";
import { statusToV03, taskToV03 } from "./task.ts";

/**
 * Converts an element of a stream of A2A 1.0, or the response to a message, to
 * the `result` of A2A 0.3.
 *
 * Clients of both versions need one decoder. Throws a `WireError` if the
 * element is empty.
 */
export function frameFromA2a(payload: StreamResponse["payload"]): JsonObject {
  switch (payload.case) {
    case "task":
      return encodeRfcJson(TaskV03Schema, taskToV03(payload.value));
    case "message":
      return encodeRfcJson(
        MessageV03Schema,
        messageToV03(payload.value, "message"),
      );
    case "statusUpdate": {
      const { taskId, contextId, status, metadata } = payload.value;
      if (!status) throw missing("statusUpdate.status");
      const update = create(UpdateV03Schema, {
        kind: "status-update",
        taskId,
        contextId,
        status: statusToV03(status, "statusUpdate.status"),
        final: isAtRest(stateFromA2a(status.state)),
        metadata,
      });
      return encodeRfcJson(UpdateV03Schema, update);
    }
    case "artifactUpdate": {
      const { taskId, contextId, artifact, append, lastChunk, metadata } =
        payload.value;
      if (!artifact) {
        throw missing("artifactUpdate.artifact");
      }
      const update = create(ArtifactUpdateV03Schema, {
        kind: "artifact-update",
        taskId,
        contextId,
        artifact: artifactToV03(artifact, "artifactUpdate.artifact"),
        append,
        lastChunk,
        metadata,
      });
      return encodeRfcJson(ArtifactUpdateV03Schema, update);
    }
    case undefined:
      throw new WireError("", "", "the element of the stream holds nothing");
    default:
      return payload satisfies never;
  }
}
