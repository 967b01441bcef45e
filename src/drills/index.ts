export { drill, type Drill, type DrillOptions, type DrillStage } from './drill.ts';
export type { Checked, DrillReport, Injected } from './drill-report.ts';
export type { DrillRun, Injection } from './drill-run.ts';
export { runDrills, type RunDrillsOptions } from './run-drills.ts';
