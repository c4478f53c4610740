import { base64Encode } from "@bufbuild/protobuf/wire";
import { type File, visibleText } from "@devtool/schema";
import type { ReactNode } from "react";

/**
 * The kinds of images that are shown. SVG may hold scripts, and is not among
 * them.
 */
const IMAGES = /^image\/(png|jpeg|gif|webp|avif)$/;

/**
 * A file: an image is shown, another one is named. Files elsewhere are not
 * loaded.
 */
export function FileView({
  file: { name, mediaType, source },
}: {
  readonly file: File;
}): ReactNode {
  if (source.case === "bytes" && IMAGES.test(mediaType)) {
    return (
      <img
        className="picture"
        src={`data:${mediaType};base64,${base64Encode(source.value)}`}
        alt={name || mediaType}
      />
    );
  }
  return (
    <p className="citation">
      {visibleText(name || (source.case === "uri" ? source.value : mediaType))}
    </p>
  );
}
