#!/usr/bin/env node
/**
 * Serves a fake Gemini until it is terminated:
 * `fake-gemini [--port N] [--latency MS] [--chunk-delay MS]`.
 */
import { runFake } from "@devtool/fake-model";
import { startFakeGemini } from "./fake-gemini.ts";

await runFake("fake-gemini", startFakeGemini);
