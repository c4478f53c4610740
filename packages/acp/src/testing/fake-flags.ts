import { parseArgs } from "node:util";

/** The flags of the fake agent. */
export const { values: flags } = parseArgs({
  options: {
    /** A directory in which the sessions outlive the process. */
    state: { type: "string" },
    /** Offers `session/resume`. */
    resume: { type: "boolean" },
    /** Offers `session/fork`. */
    fork: { type: "boolean" },
    /** Does not offer `session/load`. */
    "no-load": { type: "boolean" },
    /** Requires a login before `session/new`. */
    auth: { type: "boolean" },
    /** Takes no images, audio and embedded resources. */
    "text-only": { type: "boolean" },
    /**
     * Offers its models as the list of `session/set_model`, as agents do that
     * have no option for it.
     */
    "model-list": { type: "boolean" },
    /** Offers no choice of a model. */
    "no-models": { type: "boolean" },
    /** Ends at the first request of this method. */
    "die-at": { type: "string" },
    /** Never answers requests of this method. */
    "hang-at": { type: "string" },
  },
});
