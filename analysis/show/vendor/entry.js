/*!
Apache ECharts 6.1.0, Copyright 2017-2026 The Apache Software Foundation, Apache License 2.0.
This product includes software developed at The Apache Software Foundation (www.apache.org).
It contains zrender 6.1.0 (BSD 3-Clause, Copyright 2017 Baidu Inc.), parts of d3 (BSD 3-Clause,
Copyright 2010-2016 Mike Bostock) and tslib 2.3.0 (0BSD, Copyright Microsoft Corporation).
Bundled from parts of ECharts and otherwise unchanged: see README.md beside this file.
*/
import { use } from "echarts/core";
import { BarChart, CustomChart, LineChart } from "echarts/charts";
import {
  DataZoomComponent, GridComponent, MarkLineComponent, TooltipComponent,
} from "echarts/components";
import { CanvasRenderer } from "echarts/renderers";

use([
  BarChart, CustomChart, LineChart,
  DataZoomComponent, GridComponent, MarkLineComponent, TooltipComponent,
  CanvasRenderer,
]);
export { init } from "echarts/core";
