import { VERSION } from "@devtool/server";
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from "@opentelemetry/resources";

/** Returns what names a server in its telemetry, as the environment has it. */
export function serverResource(): Resource {
  return defaultResource()
    .merge(
      resourceFromAttributes({
        "service.name": "devtool",
        "service.version": VERSION,
      }),
    )
    .merge(detectResources({ detectors: [envDetector] }));
}
