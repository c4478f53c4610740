import { create } from "@bufbuild/protobuf";
import {
  type Artifact as ArtifactV03,
  ArtifactSchema as ArtifactV03Schema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import { type Artifact, ArtifactSchema } from "../gen/lf/a2a/v1/a2a_pb.ts";
import { partFromV03, partToV03 } from "./part.ts";

/** Converts an artifact of A2A 0.3 to one of 1.0. */
export function artifactFromV03({
  parts,
  metadata,
  ...artifact
}: ArtifactV03): Artifact {
  const { artifactId, name, description, extensions } = artifact;
  return create(ArtifactSchema, {
    artifactId,
    name,
    description,
    extensions,
    parts: parts.map(partFromV03),
    metadata,
  });
}

/**
 * Converts an artifact of A2A 1.0 to one of 0.3. Throws a `WireError` that
 * names the first part without content.
 */
export function artifactToV03(
  { parts, metadata, ...artifact }: Artifact,
  path: string,
): ArtifactV03 {
  const { artifactId, name, description, extensions } = artifact;
  return create(ArtifactV03Schema, {
    artifactId,
    name,
    description,
    extensions,
    parts: parts.map((part, index) =>
      partToV03(part, `${path}.parts[${index}]`),
    ),
    metadata,
  });
}
