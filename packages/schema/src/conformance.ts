// The form of conformance cases.
export {
  type Case,
  CaseSchema,
  type Expectation,
  ExpectationSchema,
  type Golden,
  GoldenSchema,
  type GoldenSuite,
  GoldenSuiteSchema,
  type Step,
  StepSchema,
  type Suite,
  SuiteSchema,
} from "./gen/devtool/conformance/v1alpha/case_pb.ts";
