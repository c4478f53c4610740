import { create } from "@bufbuild/protobuf";
import { fieldsOf } from "../fields-of.ts";
import {
  type Artifact as ArtifactV03,
  ArtifactSchema as ArtifactV03Schema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import { type Artifact, ArtifactSchema } from "../gen/lf/a2a/v1/a2a_pb.ts";
import { partFromV03, partToV03 } from "./part.ts";

/** Converts an artifact of A2A 0.3 to one of 1.0. */
export function artifactFromV03(artifact: ArtifactV03): Artifact {
  return create(ArtifactSchema, {
    ...fieldsOf(artifact),
    parts: artifact.parts.map(partFromV03),
  });
}

/**
 * Converts an artifact of A2A 1.0 to one of 0.3. Throws a `WireError` that
 * names the first part without content.
 */
export function artifactToV03(artifact: Artifact, path: string): ArtifactV03 {
  return create(ArtifactV03Schema, {
    ...fieldsOf(artifact),
    parts: artifact.parts.map((part, index) =>
      partToV03(part, `${path}.parts[${index}]`),
    ),
  });
}
