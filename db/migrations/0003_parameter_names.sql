-- Parameters of the GEMM templates have CUTLASS's names. Winners are kept under the new names;
-- trials keep the names of the space that they were made in.

UPDATE winner AS w
SET body = new.body,
  row_hash = CASE w.row_hash
    WHEN field_hash(w.device_class, w.template, new.key, w.device_label, w.body)
    THEN field_hash(w.device_class, w.template, new.key, w.device_label, new.body)
    ELSE w.row_hash END
FROM (
  SELECT old.id, problem.key,
    replace(replace(replace(replace(replace(replace(old.body,
      '"THREAD_M":', '"RESULTS_M":'), '"THREAD_N":', '"RESULTS_N":'), '"SLICES":', '"SLICE_K":'),
      '"BY_LINE":', '"SHARED_K_MAJOR":'), '"EXCHANGE":', '"STAGE_EPILOGUE":'),
      '"KEEP":', '"L2_PERSIST":') AS body
  FROM winner AS old JOIN problem ON problem.id = old.problem) AS new
WHERE new.id = w.id AND new.body <> w.body;
