package dev.ringwatch.agent.cql;

import java.util.Map;
import java.util.function.Supplier;
import org.apache.cassandra.db.marshal.UTF8Type;
import org.apache.cassandra.db.virtual.AbstractVirtualTable;
import org.apache.cassandra.db.virtual.SimpleDataSet;
import org.apache.cassandra.dht.LocalPartitioner;
import org.apache.cassandra.schema.TableMetadata;

/** A name and a value per row, all made for each read: for a few dozen rows, on 4.0 to 6.0. */
final class StateTable extends AbstractVirtualTable {
    private final String value;
    private final Supplier<Map<String, String>> rows;

    StateTable(String keyspace, String table, String comment, String key, String value,
            Supplier<Map<String, String>> rows) {
        super(TableMetadata.builder(keyspace, table)
                .kind(TableMetadata.Kind.VIRTUAL)
                .comment(comment)
                .partitioner(new LocalPartitioner(UTF8Type.instance))
                .addPartitionKeyColumn(key, UTF8Type.instance)
                .addRegularColumn(value, UTF8Type.instance)
                .build());
        this.value = value;
        this.rows = rows;
    }

    @Override
    public DataSet data() {
        SimpleDataSet data = new SimpleDataSet(metadata());
        for (Map.Entry<String, String> row : rows.get().entrySet()) {
            data.row(row.getKey()).column(value, row.getValue());
        }
        return data;
    }
}
