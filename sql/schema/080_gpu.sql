-- gpu: GPUs and other accelerators that clouds rent
-- Grain: gpu_key.
-- Units: in each name.
-- Reads: nothing. Read by: current_offering, page.
create table gpu (
    gpu_key varchar not null,
    vendor varchar,
    name varchar,
    architecture varchar,
    compute_capability varchar,
    release_year bigint,
    form_factor varchar,
    vram_gb bigint,
    usable_gib double,
    memory_type varchar,
    is_hbm boolean,
    memory_bandwidth_gb_per_s double,
    fp64_tflops double,
    fp32_tflops double,
    tf32_dense_tflops double,
    fp16_dense_tflops double,
    bf16_dense_tflops double,
    fp8_dense_tflops double,
    int8_dense_tops double,
    fp4_dense_tflops double,
    int4_dense_tops double,
    link varchar,
    link_gb_per_s double,
    has_nvlink boolean,
    pcie_gen bigint,
    tdp_w bigint,
    has_mig boolean,
    source_1 varchar,
    source_2 varchar,
    confidence varchar,
    notes varchar,
    retrieved_on varchar
);

comment on table gpu is 'GPUs and other accelerators that clouds rent';
comment on column gpu.gpu_key is 'our key of the GPU';
comment on column gpu.vendor is 'maker';
comment on column gpu.name is 'name for people';
comment on column gpu.architecture is 'chip family';
comment on column gpu.compute_capability is 'CUDA compute capability';
comment on column gpu.release_year is 'year of release';
comment on column gpu.form_factor is 'SXM, PCIe, OAM and so on';
comment on column gpu.vram_gb is 'memory by the label, GB';
comment on column gpu.usable_gib is 'memory that the driver reports, GiB; null is unknown';
comment on column gpu.memory_type is 'HBM3, GDDR6 and so on';
comment on column gpu.is_hbm is 'true for stacked memory';
comment on column gpu.memory_bandwidth_gb_per_s is 'memory bandwidth, 10^9 bytes per second';
comment on column gpu.fp64_tflops is 'peak FP64, TFLOPS';
comment on column gpu.fp32_tflops is 'peak FP32, TFLOPS';
comment on column gpu.tf32_dense_tflops is 'dense TF32, TFLOPS';
comment on column gpu.fp16_dense_tflops is 'dense FP16, TFLOPS';
comment on column gpu.bf16_dense_tflops is 'dense BF16, TFLOPS';
comment on column gpu.fp8_dense_tflops is 'dense FP8, TFLOPS; null means no FP8 units';
comment on column gpu.int8_dense_tops is 'dense INT8, TOPS';
comment on column gpu.fp4_dense_tflops is 'dense FP4, TFLOPS; null means no FP4 units';
comment on column gpu.int4_dense_tops is 'dense INT4, TOPS';
comment on column gpu.link is 'link to other GPUs';
comment on column gpu.link_gb_per_s is 'rate of that link per GPU, both directions, GB/s';
comment on column gpu.has_nvlink is 'true when the card can have NVLink';
comment on column gpu.pcie_gen is 'PCIe generation';
comment on column gpu.tdp_w is 'board power, W';
comment on column gpu.has_mig is 'true when it can be sliced by MIG';
comment on column gpu.source_1 is 'first source';
comment on column gpu.source_2 is 'second source';
comment on column gpu.confidence is 'high, medium or low';
comment on column gpu.notes is 'what a reader should know';
comment on column gpu.retrieved_on is 'day on which the fact was taken';
