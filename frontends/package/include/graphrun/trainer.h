// This is GraphRun's C++ API for training graphs: link GraphRun::graphrun and GraphRun::compiler.
//
// All of frontends/trainer/trainer.h, which has an example, of the graphs (<graphrun/graph.h>) and
// of sessions (<graphrun/session.h>), under its short names.
#ifndef GRAPHRUN_FRONTENDS_PACKAGE_INCLUDE_GRAPHRUN_TRAINER_H_
#define GRAPHRUN_FRONTENDS_PACKAGE_INCLUDE_GRAPHRUN_TRAINER_H_

#include <graphrun/graph.h>
#include <graphrun/session.h>
#include "frontends/trainer/trainer.h"
#include "runtime/data/batch_reader.h"
#include "runtime/data/dataset.h"
#include "runtime/training_loop/training_loop.h"

namespace graphrun {

using runtime::datasetOf;
using runtime::openIdx;
using runtime::openNpy;

using runtime::Batch;
using runtime::BatchOptions;
using runtime::BatchReader;
using runtime::BatchResult;
using runtime::Dataset;
using runtime::Evaluation;
using runtime::EvaluationReport;
using runtime::Field;
using runtime::FitEnd;
using runtime::FitOptions;
using runtime::FitResult;
using runtime::IdxFiles;
using runtime::MetricCounts;
using runtime::MetricValue;
using runtime::NpyFile;
using runtime::NpyFiles;
using runtime::SampleRange;
using runtime::StepReport;
using trainer::ModelFunction;
using trainer::Trainer;

}  // namespace graphrun

#endif  // GRAPHRUN_FRONTENDS_PACKAGE_INCLUDE_GRAPHRUN_TRAINER_H_
